/** Which panels of the chat are open, and the question being written. */
import { signal } from "@preact/signals";

export const settingsOpen = signal(false);
/** Where the screen is wide the list is always there; this is for narrow ones. */
export const listOpen = signal(false);

export const draft = signal("");

export const focusComposer = (): void => document.getElementById("question")?.focus();
