/** Which panels of the chat are open, and the question being written. */
import { signal } from "@preact/signals";

export const settingsOpen = signal(false);
/** Where the screen is wide the list is always there; this is for narrow ones. */
export const listOpen = signal(false);

export const draft = signal("");

/** Waits until the page is drawn again: a dialog that is being closed still holds the focus. */
export function focusComposer(): void {
  setTimeout(() => document.getElementById("question")?.focus());
}
