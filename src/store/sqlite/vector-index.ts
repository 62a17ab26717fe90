/**
 * An approximate index over the vectors of a collection's rows. The rows are the truth: what the
 * index does not hold yet is scanned exactly, and an index file that is missing, older or damaged
 * costs time, never an answer.
 */
import type { Database } from "bun:sqlite";
import { reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { ThreadCalls } from "../thread-calls.ts";
import { readMeta, writeMeta } from "./collection-file.ts";
import {
  type IndexFile,
  readIndexFile,
  removeIndexFile,
  removeIndexFiles,
  writeIndexFile,
} from "./index-file.ts";
import type { IndexCall, IndexOptions, IndexState } from "./index-thread.ts";
import { toVector } from "./vector-search.ts";

/** Rows beyond the index that are scanned with each search rather than added; less than half a millisecond. */
const longestTail = 200;
/** Rows that are added before the index is closed; about a second. */
const finishable = 2000;
/** Vectors added before a search gets its turn; about ten milliseconds. */
const slice = 16;
const abandonedAfterMs = 3_600_000;
/** Fewer new vectors than this are found again faster than a file is written. */
const worthSaving = 1000;

/** Up to here a search looks at `near` nodes, beyond at `far`, for the same share of the truth. */
const largeCollection = 250_000;
const expansion = { near: 192, far: 384 };

/** How far an index has followed the rows. */
interface Reach {
  /** Every row with a key up to this one is in the index. */
  lastKey: number;
  /** Every removal up to this one is done in the index. */
  lastRemoval: number;
}

export interface IndexHome {
  folder: string;
  collection: string;
}

export interface VectorIndexOptions {
  database: Database;
  dimension: number;
  /** Where the index is saved between runs; undefined: nowhere. */
  home: IndexHome | undefined;
  log: Log;
}

type SavedIndex = Reach & IndexFile;

/** What is found where there is no index: every row is yet to be compared. */
const nothing: IndexState = { keys: [], lastKey: 0 };

export class VectorIndex {
  readonly #database: Database;
  readonly #dimension: number;
  readonly #home: IndexHome | undefined;
  readonly #log: Log;
  /** Undefined until there are rows enough to be worth a thread. */
  #index: ThreadedIndex | undefined;
  #reach: Reach = { lastKey: 0, lastRemoval: 0 };
  #unsaved = 0;
  /** A saved file that turned out not to be whole, and is to be replaced. */
  #damaged: string | undefined;
  #work: Promise<void> | undefined;
  #closed = false;
  #broken = false;

  constructor({ database, dimension, home, log }: VectorIndexOptions) {
    this.#database = database;
    this.#dimension = dimension;
    this.#home = home;
    this.#log = log;
    this.follow();
  }

  /** Keys of about the nearest vectors, none that was removed; rows beyond the last key were not compared. */
  async nearest(vector: Float32Array, count: number): Promise<IndexState> {
    const index = this.#index;
    if (index === undefined) return nothing;
    const removing = this.#followRemovals(index);
    try {
      const [found] = await Promise.all([index.search(vector, count), removing]);
      return found;
    } catch (error) {
      this.#lose(index, error);
      return nothing;
    }
  }

  /** Lets the index grow in the background where many rows are not in it. */
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
    // What is nearly done is done, so that the next to open it finds a whole index.
    this.#closed = this.#tail() > finishable;
    await this.#work;
    this.#closed = true;
    await this.#trySave();
    await this.#index?.close();
  }

  /** Answers stay right where the index does not grow, or there is none; they only take longer. */
  #giveUp(error: unknown): void {
    if (this.#broken || this.#closed) return;
    this.#broken = true;
    this.#log.warn("the index of vectors cannot be built; passages are compared one by one", {
      collection: this.#home?.collection,
      reason: reasonOf(error),
    });
  }

  /** An index that does not answer is none; the rows are. */
  #lose(index: ThreadedIndex, error: unknown): void {
    this.#giveUp(error);
    void index.close();
    if (this.#index !== index) return;
    this.#index = undefined;
    this.#reach = { lastKey: 0, lastRemoval: 0 };
  }

  /** An index that could not be saved is as good as before, in this process. */
  async #trySave(): Promise<void> {
    try {
      await this.#save();
    } catch (error) {
      this.#log.warn("the index of vectors was not saved; the next start rebuilds it", {
        collection: this.#home?.collection,
        reason: reasonOf(error),
      });
    }
  }

  #tail(): number {
    const row = this.#database
      .query<{ count: number }, [number]>(
        `select count(*) as count from (select 1 from passages where key > ? limit ${finishable + 1})`,
      )
      .get(this.#reach.lastKey);
    return row?.count ?? 0;
  }

  async #catchUp(): Promise<void> {
    // What was saved before, by this process or another, is work that is done already.
    const saved = this.#saved();
    if (saved !== undefined && saved.lastKey > this.#reach.lastKey + longestTail) {
      await this.#load(saved);
    }
    if (this.#closed) return;
    this.#index ??= this.#start();
    const index = this.#index;
    const next = this.#database.query<{ key: number; vector: Uint8Array }, [number]>(
      `select key, vector from passages where key > ? order by key limit ${slice}`,
    );
    while (!this.#closed) {
      const rows = next.all(this.#reach.lastKey);
      const last = rows.at(-1);
      if (last === undefined) break;
      const keys = BigUint64Array.from(rows, ({ key }) => BigInt(key));
      const { lastKey } = await index.add(keys, this.#matrix(rows));
      this.#reach.lastKey = lastKey;
      this.#unsaved += rows.length;
    }
    if (!this.#closed) await this.#trySave();
  }

  /** What the thread is asked after this is done without the vectors that were removed. */
  #followRemovals(index: ThreadedIndex): Promise<unknown> {
    const removed = this.#database
      .query<{ seq: number; key: number }, [number]>(
        "select seq, key from removed where seq > ? order by seq",
      )
      .all(this.#reach.lastRemoval);
    const last = removed.at(-1);
    if (last === undefined) return Promise.resolve();
    this.#reach.lastRemoval = last.seq;
    return index.remove(BigUint64Array.from(removed, ({ key }) => BigInt(key)));
  }

  #start(): ThreadedIndex {
    const { count = 0 } =
      this.#database.query<{ count: number }, []>("select count(*) as count from passages").get() ??
      {};
    return new ThreadedIndex({
      dimension: this.#dimension,
      expansion: count > largeCollection ? expansion.far : expansion.near,
    });
  }

  #matrix(rows: readonly { vector: Uint8Array }[]): Float32Array {
    const matrix = new Float32Array(rows.length * this.#dimension);
    rows.forEach(({ vector }, at) => {
      matrix.set(toVector(vector), at * this.#dimension);
    });
    return matrix;
  }

  #saved(): SavedIndex | undefined {
    const text = readMeta(this.#database, "index");
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** Takes the saved index where it is whole; else the index stays what it is, and follows the rows. */
  async #load(saved: SavedIndex): Promise<void> {
    if (this.#home === undefined) return;
    const index = this.#start();
    const load = (path: string): Promise<unknown> => index.load(path, saved.lastKey);
    const isWhole = await readIndexFile(this.#home.folder, saved, load, () => this.#closed);
    if (!isWhole) {
      await index.close();
      if (!this.#closed) this.#damaged = saved.file;
      return;
    }
    const before = this.#index;
    this.#index = index;
    this.#reach = { lastKey: saved.lastKey, lastRemoval: saved.lastRemoval };
    this.#unsaved = 0;
    await before?.close();
  }

  /** Searches wait while usearch writes, and no longer: what is said of the file is how far the index was then. */
  async #save(): Promise<void> {
    const index = this.#index;
    if (this.#home === undefined || index === undefined || this.#unsaved < worthSaving) return;
    // Who ingested has most often saved as much already.
    const there = this.#saved();
    const isThere = there !== undefined && there.file !== this.#damaged;
    if (isThere && there.lastKey + longestTail >= this.#reach.lastKey) return;
    await this.#followRemovals(index);
    const { folder, collection } = this.#home;
    const reach = { ...this.#reach };
    const unsaved = this.#unsaved;
    const file = await writeIndexFile(folder, collection, (path) => index.save(path));
    const before = this.#saved();
    // Since it began, the collection may have been dropped, or another process have saved more.
    const isGone = readMeta(this.#database, "dimension") === undefined;
    if (isGone || (before !== undefined && before.lastKey > reach.lastKey)) {
      await removeIndexFile(folder, file);
      return;
    }
    writeMeta(this.#database, "index", JSON.stringify({ ...file, ...reach }));
    // An index that missed these finds keys without rows, and skips them.
    this.#database
      .query<void, [number]>("delete from removed where seq <= ?")
      .run(reach.lastRemoval);
    this.#unsaved -= unsaved;
    if (before !== undefined) await removeIndexFile(folder, before);
    // What a process left that was killed while it saved.
    await removeIndexFiles(folder, collection, Date.now() - abandonedAfterMs);
  }
}

/** In the executable all modules are one file, and this path begins at the folder of main.ts. */
const thread = import.meta.url.endsWith("/vector-index.ts")
  ? "./index-thread.ts"
  : "./store/sqlite/index-thread.ts";

/** A usearch index in a thread of its own, which does the calls in their order. */
export class ThreadedIndex extends ThreadCalls<IndexCall> {
  constructor(options: IndexOptions) {
    super({
      module: new URL(thread, import.meta.url),
      data: options,
      called: "the index",
      close: { type: "close" },
    });
  }

  add(keys: BigUint64Array, vectors: Float32Array): Promise<IndexState> {
    return this.call({ type: "add", keys, vectors });
  }

  /** Keys that are not there are ignored. */
  remove(keys: BigUint64Array): Promise<IndexState> {
    return this.call({ type: "remove", keys });
  }

  /** Keys of about the nearest vectors. */
  search(vector: Float32Array, count: number): Promise<IndexState> {
    // Of a part of a larger buffer all of that would be sent.
    return this.call({ type: "search", vector: vector.slice(), count });
  }

  save(path: string): Promise<IndexState> {
    return this.call({ type: "save", path });
  }

  /** Loads what was saved, whose last key was this one; the index must be new. */
  load(path: string, lastKey: number): Promise<IndexState> {
    return this.call({ type: "load", path, lastKey });
  }
}
