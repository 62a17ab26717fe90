/** Files of a collection's index: written aside under a new name each time, and checked before they are used. They can always be rebuilt from the rows. */
import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { ownerOnly } from "../database.ts";

export interface IndexFile {
  file: string;
  bytes: number;
  checksum: string;
}

const digestSlice = 1 << 20;

export function writeIndexFile(
  folder: string,
  collection: string,
  kind: "vectors" | "usearch",
  save: (path: string) => void,
): IndexFile {
  const file = `${collection}.${crypto.randomUUID().slice(0, 8)}.${kind}`;
  const path = join(folder, file);
  const aside = `${path}.part`;
  try {
    save(aside);
    finish(aside);
    const written = digestOf(aside);
    renameSync(aside, path);
    return { file, ...written };
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
}

export const hasSize = (folder: string, { file, bytes }: IndexFile): boolean =>
  statSync(join(folder, file), { throwIfNoEntry: false })?.size === bytes;

/** Whether the file is as it was written: its bytes are read. */
export function isWhole(folder: string, written: IndexFile): boolean {
  try {
    const isComplete = hasSize(folder, written);
    return isComplete && digestOf(join(folder, written.file)).checksum === written.checksum;
  } catch {
    return false;
  }
}

/** Removes index files of a collection, finished or not, except those in `used` and those changed since `before`. */
export function removeIndexFiles(
  folder: string,
  collection: string,
  { used = new Set<string>(), before = Number.POSITIVE_INFINITY } = {},
): void {
  if (!existsSync(folder)) return;
  for (const file of readdirSync(folder)) {
    if (indexName.exec(file)?.[1] !== collection || used.has(file)) continue;
    const found = statSync(join(folder, file), { throwIfNoEntry: false });
    if (found !== undefined && found.mtimeMs < before) removeFile(folder, file);
  }
}

/** Only a file of an index: the rows of a collection may name any. Windows refuses while a process has it mapped; it is then removed later, as an abandoned one. */
export function removeFile(folder: string, file: string): void {
  if (!indexName.test(file)) return;
  try {
    rmSync(join(folder, file), { force: true });
  } catch {
    // See above.
  }
}

/** `notes.1a2b3c4d.usearch` and `notes.1a2b3c4d.vectors.part` of the collection `notes`. */
const indexName = /^([^/\\]+)\.[0-9a-f]{8}\.(?:usearch|vectors)(?:\.part)?$/;

function finish(path: string): void {
  const file = openSync(path, "r+");
  try {
    fchmodSync(file, ownerOnly);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function digestOf(path: string): Omit<IndexFile, "file"> {
  const hash = new Bun.CryptoHasher("blake2b256");
  const buffer = new Uint8Array(digestSlice);
  let bytes = 0;
  const file = openSync(path, "r");
  try {
    for (let read = readSync(file, buffer); read > 0; read = readSync(file, buffer)) {
      hash.update(buffer.subarray(0, read));
      bytes += read;
    }
  } finally {
    closeSync(file);
  }
  return { bytes, checksum: hash.digest("hex") };
}
