/** Browser helpers: storage, random ids and screen reader announcements. */
import { signal } from "@preact/signals";

type Kind = "local" | "session";

/** Evaluated on each use: if storage is forbidden, even naming it throws. */
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

/** A random id; `crypto.randomUUID` is missing if the page was loaded over plain HTTP. */
export function newId(): string {
  const numbers = crypto.getRandomValues(new Uint32Array(3));
  return [...numbers].map((number) => number.toString(36)).join("-");
}

/** Text for screen readers: announced once per event, never token by token. */
export const announcement = signal("");

export function announce(text: string): void {
  // Screen readers speak when the text changes: a no-break space makes the same words differ.
  announcement.value = announcement.value === text ? `${text}\u00a0` : text;
}
