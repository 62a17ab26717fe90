/** What a browser may lack: storage, random ids without HTTPS; and words for its screen reader. */
import { signal } from "@preact/signals";

type Kind = "local" | "session";

/** It may be full, or forbidden altogether. Read when used: where storage is forbidden, naming it throws. */
const storageOf = (kind: Kind): Storage => (kind === "local" ? localStorage : sessionStorage);

export function readItem(kind: Kind, name: string): string | null {
  try {
    return storageOf(kind).getItem(name);
  } catch {
    return null;
  }
}

/** Returns whether it was stored; `null` removes it. */
export function writeItem(kind: Kind, name: string, value: string | null): boolean {
  try {
    if (value === null) storageOf(kind).removeItem(name);
    else storageOf(kind).setItem(name, value);
    return true;
  } catch {
    return false;
  }
}

/** Random ids; `crypto.randomUUID` is missing where the page came over plain HTTP. */
export function newId(): string {
  const numbers = crypto.getRandomValues(new Uint32Array(3));
  return [...numbers].map((number) => number.toString(36)).join("-");
}

/** What a screen reader is told; once, when something has happened, never token by token. */
export const announcement = signal("");

export function announce(text: string): void {
  // A screen reader speaks when the text changes; a no-break space more makes the same words another text.
  announcement.value = announcement.value === text ? `${text}\u00a0` : text;
}
