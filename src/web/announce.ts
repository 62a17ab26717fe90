/** What a screen reader is told; once, when something has happened, never token by token. */
import { signal } from "@preact/signals";

export const announcement = signal("");

export function announce(text: string): void {
  // A screen reader speaks when the text changes; a no-break space more makes the same words another text.
  announcement.value = announcement.value === text ? `${text}\u00a0` : text;
}
