/** Opens a file that was found before, and makes sure that it still is what was allowed. */
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { isUnder } from "./named-roots.ts";
import { beyond, type ReadLimits } from "./readers/limits.ts";
import { unreadable } from "./readers/unreadable.ts";

/** The content of a file whose real path lies under the roots; no roots: the user named the file, and it may lie anywhere. */
export async function readUnder(
  path: string,
  roots: readonly string[] | undefined,
  limits: ReadLimits,
): Promise<Uint8Array> {
  // Without O_NONBLOCK a file that became a pipe since it was found would never open.
  const flags = roots === undefined ? "r" : constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
  await using file = await open(path, flags);
  if (roots !== undefined) await checkPlace(path, file, roots);
  return await boundedBytes(file.createReadStream({ autoClose: false }), limits);
}

/** All of a stream; one that is longer than a file may be is refused before more of it is kept. */
export async function boundedBytes(
  stream: AsyncIterable<Uint8Array>,
  limits: ReadLimits,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of stream) {
    bytes += piece.length;
    if (bytes > limits.max_file_bytes) throw beyond("max_file_bytes", limits);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Checked on the open file, so that exchanging a link after the check gains nothing. */
async function checkPlace(path: string, file: FileHandle, roots: readonly string[]): Promise<void> {
  const opened = await file.stat();
  const real = await realpath(path);
  if (!opened.isFile()) throw unreadable("is no file any more");
  if (!isUnder(roots, real) || !isSame(opened, await stat(real))) {
    throw unreadable("leads out of the folders that were named, by a link");
  }
}

const isSame = (one: Stats, other: Stats): boolean =>
  one.dev === other.dev && one.ino === other.ino;
