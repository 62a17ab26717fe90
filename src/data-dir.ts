/** The folder that holds models, collections and keys: its owner's alone. */
import { mkdirSync, statSync } from "node:fs";
import { platform } from "node:os";

const ownersAlone = 0o700;
const others = 0o077;

/** Makes it where it is not there; one that is there stays as it is. */
export function makeDataDir(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: ownersAlone });
  } catch {
    // What is written into it first says why it cannot be.
  }
}

/**
 * The rights that others than its owner have to it, as `chmod` writes them: `755`; undefined where
 * they have none. It is not taken from them: a folder that is shared on purpose looks the same.
 */
export function openRightsOf(path: string): string | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  // Windows has other rights, and shows these as if all had them.
  if (platform() === "win32" || (mode & others) === 0) return undefined;
  return (mode & 0o777).toString(8);
}
