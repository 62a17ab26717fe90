/** Tells whether a file is still the one that was opened, by its inode, size and times. */
import { statSync } from "node:fs";

export interface FileStamp {
  /** The identity of the file: device and inode. */
  identity: string;
  /** Differs when the file was changed in any way. */
  state: string;
  size: number;
  /** When it was last changed, in milliseconds. */
  changedMs: number;
}

/** Undefined where there is no file. */
export function stampOf(path: string): FileStamp | undefined {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (file === undefined) return undefined;
  const { dev, ino, size, mtimeNs, ctimeNs } = file;
  return {
    identity: `${dev}:${ino}`,
    state: [dev, ino, size, mtimeNs, ctimeNs].join(":"),
    size: Number(size),
    changedMs: Math.max(Number(file.mtimeMs), Number(file.ctimeMs)),
  };
}
