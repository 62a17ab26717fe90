/** An index's file beside its collection: written aside and renamed, named anew each time, checked when read. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";

export interface IndexFile {
  file: string;
  bytes: number;
  checksum: string;
}

/** Has `save` write the file of a collection; a crash leaves the one before untouched. */
export function writeIndexFile(
  folder: string,
  collection: string,
  save: (path: string) => void,
): IndexFile {
  const file = `${collection}.${crypto.randomUUID().slice(0, 8)}.usearch`;
  const path = join(folder, file);
  const aside = `${path}.part`;
  try {
    save(aside);
    const descriptor = openSync(aside, "r+");
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(aside, path);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
  return { file, bytes: statSync(path).size, checksum: checksumOf(path) };
}

/** Has `load` read the file where it is what was written; says whether it was. */
export function readIndexFile(
  folder: string,
  { file, bytes, checksum }: IndexFile,
  load: (path: string) => void,
): boolean {
  const path = join(folder, file);
  try {
    if (statSync(path).size !== bytes || checksumOf(path) !== checksum) return false;
    load(path);
    return true;
  } catch {
    // Missing or unreadable: the rows hold everything.
    return false;
  }
}

export function removeIndexFile(folder: string, { file }: Pick<IndexFile, "file">): void {
  rmSync(join(folder, file), { force: true });
}

/** Removes every index file of a collection, finished or not; those that were touched since `before` stay. */
export function removeIndexFiles(
  folder: string,
  collection: string,
  before = Number.POSITIVE_INFINITY,
): void {
  if (!existsSync(folder)) return;
  for (const file of readdirSync(folder)) {
    const [name, random = ""] = splitName(file);
    if (name !== collection || !/^[0-9a-f]{8}$/.test(random)) continue;
    const found = statSync(join(folder, file), { throwIfNoEntry: false });
    if (found !== undefined && found.mtimeMs < before) removeIndexFile(folder, { file });
  }
}

/** `notes.1a2b3c4d.usearch` and `notes.1a2b3c4d.usearch.part`: the collection and the random part. */
const splitName = (file: string): string[] =>
  /\.usearch(\.part)?$/.test(file) ? file.split(".").slice(0, 2) : [];

function checksumOf(path: string): string {
  const hash = new Bun.CryptoHasher("blake2b256");
  const descriptor = openSync(path, "r");
  try {
    const buffer = new Uint8Array(4 << 20);
    for (let read = readSync(descriptor, buffer); read > 0; read = readSync(descriptor, buffer)) {
      hash.update(buffer.subarray(0, read));
    }
    return hash.digest("hex");
  } finally {
    closeSync(descriptor);
  }
}
