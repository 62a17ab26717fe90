/**
 * Unpacks the files that the executable carries into a folder named by their content: once,
 * atomically, readable by their owner only, and checked each time before they are used.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { CarriedFile } from "./carried.ts";

const prefix = "native-";
const ownerOnly = 0o700;

export interface UnpackOptions {
  files: readonly CarriedFile[];
  /** The cache folder; it is made where it does not exist. */
  folder: string;
  /** The user that the process runs as; undefined where the platform has none. */
  user: number | undefined;
}

/** The folder that holds the files; those of other versions are removed. */
export function unpack({ files, folder, user }: UnpackOptions): string {
  const target = join(folder, `${prefix}${idOf(files)}`);
  try {
    if (!isWhole(target, files)) write(target, files);
    checkOwner(target, user);
    removeOthers(folder, target);
    return target;
  } catch (cause) {
    throw new NodeError(
      "unavailable",
      `The program's own libraries cannot be kept in ${folder}: ${reasonOf(cause)}. Make the folder writable, free some disk, or name another with PADDOCK_CACHE_DIR.`,
      { cause },
    );
  }
}

/** The name of the folder: a digest of the files, so that another build has another folder. */
function idOf(files: readonly CarriedFile[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const { name, sha256 } of files) hash.update(`${name} ${sha256}\n`);
  return hash.digest("hex").slice(0, 16);
}

function isWhole(folder: string, files: readonly CarriedFile[]): boolean {
  return files.every(({ name, bytes, sha256 }) => {
    const path = join(folder, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.isFile() === true && found.size === bytes && digestOf(path) === sha256;
  });
}

const digestOf = (path: string): string =>
  new Bun.CryptoHasher("sha256").update(readFileSync(path)).digest("hex");

/** Writes to a temporary folder and renames it; of two processes the second finds it there. */
function write(target: string, files: readonly CarriedFile[]): void {
  const aside = `${target}.${crypto.randomUUID()}.part`;
  try {
    mkdirSync(dirname(target), { recursive: true, mode: ownerOnly });
    mkdirSync(aside, { mode: ownerOnly });
    for (const { name, path } of files) {
      const file = join(aside, name);
      mkdirSync(dirname(file), { recursive: true, mode: ownerOnly });
      writeSynced(file, readFileSync(path));
    }
    if (!isWhole(aside, files)) throw new Error("what was written is not what was to be written");
    // A folder that exists but is not whole was damaged, and is replaced.
    if (existsSync(target) && !isWhole(target, files)) {
      renameSync(target, `${aside}.old`);
    }
    place(aside, target, files);
  } finally {
    rmSync(aside, { recursive: true, force: true });
    rmSync(`${aside}.old`, { recursive: true, force: true });
  }
}

function place(aside: string, target: string, files: readonly CarriedFile[]): void {
  try {
    renameSync(aside, target);
  } catch (error) {
    if (!isWhole(target, files)) throw error;
  }
}

function writeSynced(file: string, content: Uint8Array): void {
  const descriptor = openSync(file, "wx", ownerOnly);
  try {
    for (let written = 0; written < content.length; ) {
      written += writeSync(descriptor, content, written);
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  chmodSync(file, ownerOnly);
}

/** Libraries that another user could replace must not be loaded. */
function checkOwner(folder: string, user: number | undefined): void {
  if (user === undefined) return;
  const { uid, mode } = lstatSync(folder);
  if (uid !== user) throw new Error("it belongs to another user");
  if ((mode & 0o077) !== 0) chmodSync(folder, ownerOnly);
}

/** Removes folders of other versions, and temporary ones of starts that were killed. */
function removeOthers(folder: string, target: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!name.startsWith(prefix) || path === target || isBeingWritten(path)) continue;
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // On Windows files in use cannot be removed: that version still runs, and a later start removes it.
    }
  }
}

const abandonedAfterMs = 10 * 60 * 1000;

function isBeingWritten(path: string): boolean {
  if (!path.includes(".part")) return false;
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs < abandonedAfterMs;
}
