/** The index file of a collection: written aside under a new name each time, and verified when read. */
import { existsSync, statSync } from "node:fs";
import { open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { turn } from "./vector-search.ts";

export interface IndexFile {
  file: string;
  bytes: number;
  checksum: string;
}

/** Bytes to digest before yielding to the event loop; about a millisecond. */
const slice = 1 << 18;

export async function writeIndexFile(
  folder: string,
  collection: string,
  save: (path: string) => Promise<unknown>,
): Promise<IndexFile> {
  const file = `${collection}.${crypto.randomUUID().slice(0, 8)}.usearch`;
  const path = join(folder, file);
  const aside = `${path}.part`;
  try {
    await save(aside);
    await sync(aside);
    const written = await digestOf(aside);
    await rename(aside, path);
    return { file, ...written };
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}

/** Reads the file with `load` if its checksum is right; returns whether it was. */
export async function readIndexFile(
  folder: string,
  { file, bytes, checksum }: IndexFile,
  load: (path: string) => Promise<unknown>,
  isUnwanted: () => boolean,
): Promise<boolean> {
  const path = join(folder, file);
  try {
    if (statSync(path).size !== bytes) return false;
    const found = await digestOf(path, isUnwanted);
    if (isUnwanted() || found.checksum !== checksum) return false;
    await load(path);
    return true;
  } catch {
    // Missing or unreadable: the rows hold everything.
    return false;
  }
}

/** Asynchronous, since removing a large file takes time. */
export async function removeIndexFile(
  folder: string,
  { file }: Pick<IndexFile, "file">,
): Promise<void> {
  await rm(join(folder, file), { force: true });
}

/** Removes every index file of a collection, finished or not, except those changed since `before`. */
export async function removeIndexFiles(
  folder: string,
  collection: string,
  before = Number.POSITIVE_INFINITY,
): Promise<void> {
  if (!existsSync(folder)) return;
  for (const file of await readdir(folder)) {
    if (indexName.exec(file)?.[1] !== collection) continue;
    const found = statSync(join(folder, file), { throwIfNoEntry: false });
    if (found !== undefined && found.mtimeMs < before) await removeIndexFile(folder, { file });
  }
}

/** `notes.1a2b3c4d.usearch` and `notes.1a2b3c4d.usearch.part` of the collection `notes`. */
const indexName = /^(.+)\.[0-9a-f]{8}\.usearch(?:\.part)?$/;

async function sync(path: string): Promise<void> {
  await using file = await open(path, "r+");
  await file.sync();
}

async function digestOf(
  path: string,
  isUnwanted = (): boolean => false,
): Promise<Omit<IndexFile, "file">> {
  const hash = new Bun.CryptoHasher("blake2b256");
  const buffer = new Uint8Array(slice);
  let bytes = 0;
  await using file = await open(path, "r");
  while (!isUnwanted()) {
    const { bytesRead } = await file.read(buffer);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
    // Reads that finish at once would never yield to the event loop.
    await turn();
  }
  return { bytes, checksum: hash.digest("hex") };
}
