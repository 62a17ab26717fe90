/** What a screen reader is told; once, when something has happened, never token by token. */
import { signal } from "@preact/signals";

export const announcement = signal("");

export function announce(text: string): void {
  // The same words twice are two events: a no-break space more makes them another text.
  announcement.value = announcement.value === text ? `${text}\u00a0` : text;
}
