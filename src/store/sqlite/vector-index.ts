/** An approximate index of a collection's vectors. The rows are the truth: an index that is missing, outdated or damaged only makes searches slower. */
import type { Database } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { change, numberOf, rowsOf } from "../database.ts";
import { inThread, type Remote } from "../thread-calls.ts";
import {
  countPassages,
  dimensionIn,
  readMeta,
  toVector,
  turn,
  writeMeta,
  writing,
} from "./collection-file.ts";
import type { IndexOptions, Neighbours, UsearchIndex } from "./usearch-index.ts";

/** Rows not in the index that are scanned with each search; less than half a millisecond. */
const longestTail = 200;
/** Rows that are still added when the index is closed; about a second. */
const finishable = 2000;
/** Vectors to add before a search gets its turn; about ten milliseconds. */
const slice = 16;
const abandonedAfterMs = 3_600_000;
/** Fewer new vectors than this are added again faster than a file is written. */
const worthSaving = 1000;

/** Up to this size a search visits `near` nodes, beyond it `far`, for the same recall. */
const largeCollection = 250_000;
const expansion = { near: 192, far: 384 };

/** How far an index has followed the rows. */
interface Reach {
  /** Every row with a key up to this one is in the index. */
  lastKey: number;
  /** Every removal up to this one is applied to the index. */
  lastRemoval: number;
}

export interface VectorIndexOptions {
  database: Database;
  collection: string;
  dimension: number;
  /** Where the index is saved between runs; undefined: nowhere. */
  folder: string | undefined;
  log: Log;
}

type SavedIndex = Reach & IndexFile;

interface VectorRow {
  key: number;
  vector: Uint8Array;
}

/** The result without an index: every row has yet to be compared. */
const nothing: Neighbours = { keys: [], lastKey: 0 };

/** A usearch index in its own thread. */
type ThreadIndex = Remote<UsearchIndex>;

export const indexThread = (options: IndexOptions): ThreadIndex =>
  inThread({ target: "index", args: [options], called: "The index" });

export class VectorIndex {
  readonly #options: VectorIndexOptions;
  readonly #database: Database;
  /** Undefined until there are enough rows to be worth a thread. */
  #index: ThreadIndex | undefined;
  #reach: Reach = { lastKey: 0, lastRemoval: 0 };
  #unsaved = 0;
  /** A saved file that is incomplete, and has to be replaced. */
  #damaged: string | undefined;
  #work: Promise<void> | undefined;
  #closed = false;
  #broken = false;

  constructor(options: VectorIndexOptions) {
    this.#options = options;
    this.#database = options.database;
    this.follow();
  }

  /** Keys of the approximately nearest vectors, without removed ones; rows beyond the last key were not compared. */
  async nearest(vector: Float32Array, count: number): Promise<Neighbours> {
    const index = this.#index;
    if (index === undefined) return nothing;
    const removing = this.#followRemovals(index);
    try {
      // Copied, since a view would send its whole underlying buffer.
      const finding = index.search(vector.slice(), count);
      const [found] = await Promise.all([finding, removing]);
      return found;
    } catch (error) {
      this.#giveUp(error);
      void index[Symbol.asyncDispose]();
      this.#index = undefined;
      return nothing;
    }
  }

  /** Updates the index in the background if many rows are missing from it. */
  follow(): void {
    const idle = this.#work === undefined && !this.#closed && !this.#broken;
    if (!idle || this.#tail() <= longestTail) return;
    this.#work = this.#catchUp()
      .catch((error: unknown) => this.#giveUp(error))
      .finally(() => {
        this.#work = undefined;
      });
  }

  async close(): Promise<void> {
    // Finishes if little is left, so that the next start finds a complete index.
    this.#closed = this.#tail() > finishable;
    await this.#work;
    this.#closed = true;
    await this.#trySave();
    await this.#index?.[Symbol.asyncDispose]();
  }

  /** Results stay right without the index, or if it is not updated; searches only take longer. */
  #giveUp(error: unknown): void {
    if (this.#broken || this.#closed) return;
    this.#broken = true;
    this.#warn("the index of vectors cannot be built; passages are compared one by one", error);
  }

  /** An index that could not be saved still works in this process. */
  async #trySave(): Promise<void> {
    try {
      await this.#save();
    } catch (error) {
      this.#warn("the index of vectors was not saved; the next start rebuilds it", error);
    }
  }

  #warn(message: string, error: unknown): void {
    const { collection, log } = this.#options;
    log.warn(message, { collection, reason: reasonOf(error) });
  }

  /** How many rows are not in the index; a large number is not counted to its end. */
  #tail(): number {
    const sql = `select count(*) from (select 1 from passages where key > ? limit ${finishable + 1})`;
    return numberOf(this.#database, sql, this.#reach.lastKey);
  }

  async #catchUp(): Promise<void> {
    // Reuse what this or another process has saved.
    const saved = this.#saved();
    if (saved !== undefined && saved.lastKey > this.#reach.lastKey + longestTail) {
      await this.#load(saved);
    }
    if (this.#closed) return;
    this.#index ??= this.#start();
    const index = this.#index;
    const sql = `select key, vector from passages where key > ? order by key limit ${slice}`;
    while (!this.#closed) {
      const rows = rowsOf<VectorRow>(this.#database, sql, this.#reach.lastKey);
      const last = rows.at(-1);
      if (last === undefined) break;
      const keys = BigUint64Array.from(rows, ({ key }) => BigInt(key));
      await index.add(keys, this.#matrix(rows));
      this.#reach.lastKey = last.key;
      this.#unsaved += rows.length;
    }
    if (!this.#closed) await this.#trySave();
  }

  /** Later calls of the thread no longer see the removed vectors. */
  #followRemovals(index: ThreadIndex): Promise<void> {
    const sql = "select seq, key from removed where seq > ? order by seq";
    const { lastRemoval } = this.#reach;
    const removed = rowsOf<{ seq: number; key: number }>(this.#database, sql, lastRemoval);
    const last = removed.at(-1);
    if (last === undefined) return Promise.resolve();
    this.#reach.lastRemoval = last.seq;
    return index.remove(BigUint64Array.from(removed, ({ key }) => BigInt(key)));
  }

  #start(): ThreadIndex {
    const isLarge = countPassages(this.#database) > largeCollection;
    const { dimension } = this.#options;
    return indexThread({ dimension, expansion: isLarge ? expansion.far : expansion.near });
  }

  #matrix(rows: readonly VectorRow[]): Float32Array {
    const { dimension } = this.#options;
    const matrix = new Float32Array(rows.length * dimension);
    for (const [at, { vector }] of rows.entries()) matrix.set(toVector(vector), at * dimension);
    return matrix;
  }

  #saved(): SavedIndex | undefined {
    const text = readMeta(this.#database, "index");
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** Loads the saved index if it is complete; otherwise the current one stays, and follows the rows. */
  async #load(saved: SavedIndex): Promise<void> {
    const { folder } = this.#options;
    if (folder === undefined) return;
    const index = this.#start();
    const load = (path: string): Promise<void> => index.load(path, saved.lastKey);
    const isWhole = await readIndexFile(folder, saved, load, () => this.#closed);
    if (!isWhole) {
      await index[Symbol.asyncDispose]();
      if (!this.#closed) this.#damaged = saved.file;
      return;
    }
    const before = this.#index;
    this.#index = index;
    this.#reach = { lastKey: saved.lastKey, lastRemoval: saved.lastRemoval };
    this.#unsaved = 0;
    await before?.[Symbol.asyncDispose]();
  }

  /** Searches wait only while usearch writes; the record of the file has the state at that time. */
  async #save(): Promise<void> {
    const index = this.#index;
    const { folder, collection } = this.#options;
    if (folder === undefined || index === undefined || this.#unsaved < worthSaving) return;
    // The process that ingested has usually saved as much already.
    const there = this.#saved();
    const isThere = there !== undefined && there.file !== this.#damaged;
    if (isThere && there.lastKey + longestTail >= this.#reach.lastKey) return;
    await this.#followRemovals(index);
    const reach = { ...this.#reach };
    const unsaved = this.#unsaved;
    const file = await writeIndexFile(folder, collection, (path) => index.save(path));
    const before = this.#saved();
    // Meanwhile, the collection may have been dropped, or another process may have saved more.
    const isGone = dimensionIn(this.#database) === undefined;
    if (isGone || (before !== undefined && before.lastKey > reach.lastKey)) {
      await rm(join(folder, file.file), { force: true });
      return;
    }
    await writing(collection, () => {
      writeMeta(this.#database, "index", JSON.stringify({ ...file, ...reach }));
      // An index that missed these finds keys without rows, and skips them.
      change(this.#database, "delete from removed where seq <= ?", reach.lastRemoval);
    });
    this.#unsaved -= unsaved;
    if (before !== undefined) await rm(join(folder, before.file), { force: true });
    // Files of processes that were killed while saving.
    await removeIndexFiles(folder, collection, Date.now() - abandonedAfterMs);
  }
}

export interface IndexFile {
  file: string;
  bytes: number;
  checksum: string;
}

/** Bytes to digest before yielding to the event loop; about a millisecond. */
const digestSlice = 1 << 18;

/** Written aside under a new name each time, and verified when read. */
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

/** Removes every index file of a collection, finished or not, except those changed since `before`. */
export async function removeIndexFiles(
  folder: string,
  collection: string,
  before = Number.POSITIVE_INFINITY,
): Promise<void> {
  if (!existsSync(folder)) return;
  for (const file of await readdir(folder)) {
    if (indexName.exec(file)?.[1] !== collection) continue;
    const path = join(folder, file);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && found.mtimeMs < before) await rm(path, { force: true });
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
  const buffer = new Uint8Array(digestSlice);
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
