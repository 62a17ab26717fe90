/** The browser's storage, which may be full, or forbidden altogether. */

type Kind = "local" | "session";

/** Read when used: where storage is forbidden, naming it throws. */
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
