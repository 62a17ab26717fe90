/** Finds files by paths, folders and globs, and which documents of a collection they cover. */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, realpath, stat } from "node:fs/promises";
import { extname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { Glob } from "bun";
import { hasCode, reasonOf } from "../core/errors.ts";
import { digest, type SourceDocument } from "./passages.ts";
import { readableExtensions } from "./readers/formats.ts";
import { beyond, defaultLimits, type ReadLimits, unreadable } from "./readers/limits.ts";

export interface FoundFiles {
  documents: SourceDocument[];
  missing: string[];
  /** Folders and files that cannot be looked into or at, with the reason. */
  unlisted: { path: string; reason: string }[];
  /** Number of files in folders that no reader supports, by extension. */
  skipped: Map<string, number>;
  /** Entries that are left out, with the reason: links out of the folders, and anything that is not a file. */
  leftOut: { path: string; reason: string }[];
  /** Where the documents come from; one of another origin is not theirs, whatever its name. */
  origin: string;
  /** Whether a document's name stands for a file that these paths name and that could be seen, be it there or not. */
  covers: (document: string) => boolean;
}

/** Whether a path leads through a hidden file or folder, or through `node_modules`; both are left out. */
export const isLeftAlone = (path: string): boolean =>
  /(^|\/)(\.[^/.][^/]*|node_modules)(\/|$)/.test(path);

type Found = Omit<FoundFiles, "documents" | "covers" | "leftOut"> & {
  documents: Map<string, SourceDocument>;
  leftOut: Map<string, string>;
  scopes: ((document: string) => boolean)[];
  /** Folders that links may lead into. */
  roots: readonly string[];
  limits: ReadLimits;
};

/** Names are relative to `cwd` where they lie under it, so that the same file is the same document. */
export async function findFiles(
  paths: readonly string[],
  cwd: string,
  limits = defaultLimits,
): Promise<FoundFiles> {
  const found: Found = {
    documents: new Map(),
    missing: [],
    unlisted: [],
    skipped: new Map(),
    leftOut: new Map(),
    roots: await namedRoots(paths, cwd),
    limits,
    // Names the folder without revealing its path.
    origin: digest(cwd).slice(0, 8),
    scopes: [],
  };
  for (const path of paths) await addPath(found, path, cwd);
  const { documents, scopes, leftOut, ...rest } = found;
  const isHidden = (document: string): boolean =>
    found.unlisted.some(({ path }) => isIn(path, document));
  return {
    ...rest,
    documents: [...documents.values()].sort((a, b) => a.name.localeCompare(b.name)),
    leftOut: [...leftOut].map(([path, reason]) => ({ path, reason })),
    covers: (document) => !isHidden(document) && scopes.some((covers) => covers(document)),
  };
}

/** Whether a document is the named one, or in the named folder; the working folder has no name. */
const isIn = (name: string, document: string): boolean =>
  name === "" ? !isAbsolute(document) : document === name || document.startsWith(`${name}/`);

async function addPath(found: Found, path: string, cwd: string): Promise<void> {
  const full = resolve(cwd, path);
  const name = documentName(full, cwd);
  const there = await unlessHidden(found, full, cwd, stat(full));
  if (there === "hidden") return;
  if (there?.isDirectory()) {
    found.scopes.push((document) => document !== name && isIn(name, document));
    await addFolder(found, full, cwd);
  } else if (there !== undefined) {
    found.scopes.push((document) => document === name);
    // A file that the user named is read, even if it is a link or a pipe.
    add(found, full, there.size, cwd, undefined);
  } else if (globSigns.test(path)) {
    await addGlob(found, path, name, cwd);
  } else {
    found.scopes.push((document) => isIn(name, document));
    found.missing.push(path);
  }
}

async function addGlob(found: Found, path: string, name: string, cwd: string): Promise<void> {
  const glob = new Glob(name);
  found.scopes.push((document) => glob.match(document));
  let matches = 0;
  for await (const file of new Glob(path).scan({ cwd, absolute: true, onlyFiles: true })) {
    if (isLeftAlone(documentName(file, cwd))) continue;
    matches++;
    await addKnown(found, file, cwd);
  }
  if (matches === 0) found.missing.push(path);
}

async function addFolder(found: Found, folder: string, cwd: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    found.unlisted.push({ path: documentName(folder, cwd), reason: reasonOf(error) });
    return [];
  });
  for (const entry of entries) {
    if (isLeftAlone(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await addFolder(found, path, cwd);
    // No link leads here, so it lies under the roots; that is checked once more when it is read.
    else if (entry.isFile()) await addReadable(found, path, cwd);
    else await addKnown(found, path, cwd);
  }
}

/** Undefined if there is nothing; "hidden" if nobody can tell, as without rights or where its disk does not answer. */
async function unlessHidden<Seen>(
  found: Found,
  path: string,
  cwd: string,
  look: Promise<Seen>,
): Promise<Seen | "hidden" | undefined> {
  try {
    return await look;
  } catch (error) {
    if (isAbsence(error)) return undefined;
    found.unlisted.push({ path: documentName(path, cwd), reason: reasonOf(error) });
    return "hidden";
  }
}

const isAbsence = (error: unknown): boolean =>
  ["ENOENT", "ENOTDIR", "ELOOP"].some((code) => hasCode(error, code));

/** Whether a document's file is there, be it one that folders and globs leave out, or nobody can tell. */
export const hasFile = (document: string, cwd: string): Promise<boolean> =>
  stat(resolve(cwd, document)).then(
    (there) => !there.isDirectory(),
    (error: unknown) => !isAbsence(error),
  );

/** Adds a file that a reader supports; skips one that was removed since it was listed. */
async function addKnown(found: Found, path: string, cwd: string): Promise<void> {
  const seen = await unlessHidden(found, path, cwd, lstat(path));
  if (seen === undefined || seen === "hidden") return;
  const isLink = seen.isSymbolicLink();
  const leaveOut = (reason: string): void => {
    found.leftOut.set(documentName(path, cwd), reason);
  };
  const real = await unlessHidden(found, path, cwd, realpath(path));
  if (real === "hidden") return;
  const there = real === undefined ? undefined : await stat(real).catch(() => undefined);
  if (real === undefined || there === undefined) {
    if (isLink) leaveOut("it is a link that leads nowhere");
    return;
  }
  // By the real path, since a folder above may be a link too.
  if (!isUnder(found.roots, real)) {
    leaveOut("its link leads out of the folders that were named");
  } else if (there.isDirectory()) {
    // Links to folders are not followed: one may lead back here.
    leaveOut("it is a link to a folder; name the folder itself");
  } else if (!there.isFile()) {
    leaveOut("it is no file");
  } else {
    await addReadable(found, path, cwd);
  }
}

async function addReadable(found: Found, path: string, cwd: string): Promise<void> {
  const extension = extname(path).toLowerCase();
  if (!readableExtensions.includes(extension)) {
    found.skipped.set(extension, (found.skipped.get(extension) ?? 0) + 1);
    return;
  }
  const there = await unlessHidden(found, path, cwd, stat(path));
  if (there !== undefined && there !== "hidden") add(found, path, there.size, cwd, found.roots);
}

function add(
  { documents, origin, limits }: Found,
  path: string,
  bytes: number,
  cwd: string,
  roots: readonly string[] | undefined,
): void {
  const name = documentName(path, cwd);
  // A file that was named and also lies in a named folder is treated as named.
  if (roots !== undefined && documents.has(name)) return;
  documents.set(name, { name, origin, bytes, read: () => readUnder(path, roots, limits) });
}

function documentName(path: string, cwd: string): string {
  const name = relative(cwd, path);
  const outside = name.startsWith("..") || isAbsolute(name);
  return (outside ? path : name).split(sep).join("/");
}

const globSigns = /[*?[{]/;

/** The folder that a glob begins in: the part before its first wildcard. A path without one is returned as it is. */
export function globBase(path: string): string {
  const sign = path.search(globSigns);
  return sign === -1 ? path : path.slice(0, path.lastIndexOf("/", sign) + 1) || ".";
}

/** The real path of each, or of the folder that a glob begins in; a link that the user named is followed. */
export async function namedRoots(paths: readonly string[], cwd: string): Promise<string[]> {
  const found = paths.map(
    async (path) =>
      (await realPath(resolve(cwd, path))) ?? (await realPath(resolve(cwd, globBase(path)))),
  );
  return (await Promise.all(found)).filter((root) => root !== undefined);
}

export const isUnder = (roots: readonly string[], path: string): boolean =>
  roots.some(
    (root) => path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`),
  );

const realPath = (path: string): Promise<string | undefined> =>
  realpath(path).catch(() => undefined);

/** The content of a file whose real path lies under the roots; no roots: the user named the file, and it may lie anywhere. */
async function readUnder(
  path: string,
  roots: readonly string[] | undefined,
  limits: ReadLimits,
): Promise<Uint8Array> {
  // Without O_NONBLOCK a file that became a pipe since it was found would never open.
  const flags = roots === undefined ? "r" : constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
  await using file = await open(path, flags);
  const { size } = await (roots === undefined ? file.stat() : checkPlace(path, file, roots));
  return await boundedBytes(chunksOf(file, size), limits);
}

const largestChunk = 1 << 20;
const unknownChunk = 1 << 16;

/** `size`: as the file says, so that a small one is read in one go; a stream takes several times as long to make. Of a pipe it is 0. */
async function* chunksOf(file: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  const length = size === 0 ? unknownChunk : Math.min(size + 1, largestChunk);
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

/** All of a stream; one that is longer than a file may be is refused before more of it is in memory. */
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

/** Checked on the open file, so that swapping a link after the check has no effect. */
async function checkPlace(
  path: string,
  file: FileHandle,
  roots: readonly string[],
): Promise<{ size: number }> {
  const opened = await file.stat();
  const real = await realpath(path);
  if (!opened.isFile()) throw unreadable("is no file any more");
  const there = await stat(real);
  const isSame = opened.dev === there.dev && opened.ino === there.ino;
  if (!isUnder(roots, real) || !isSame) {
    throw unreadable("leads out of the folders that were named, by a link");
  }
  return opened;
}
