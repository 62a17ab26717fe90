/**
 * An approximate index over the vectors of a collection's rows. The rows are the truth: what the
 * index does not hold yet is scanned exactly, and an index file that is missing, older or damaged
 * costs time, never an answer.
 */
import type { Database } from "bun:sqlite";
import { Index, MetricKind, ScalarKind } from "usearch";
import { reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import {
  type IndexFile,
  readIndexFile,
  removeIndexFile,
  removeIndexFiles,
  writeIndexFile,
} from "./index-file.ts";
import { readMeta, writeMeta } from "./schema.ts";
import { toVector } from "./vectors.ts";

/** Rows beyond the index that are scanned with each search rather than added; less than half a millisecond. */
const longestTail = 200;
/** Rows that are added before the index is closed; about a second. */
const finishable = 2000;
/** Vectors added before others get their turn; about ten milliseconds. */
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
  /** Where the index is kept between runs; undefined: nowhere. */
  home: IndexHome | undefined;
  log: Log;
}

type SavedIndex = Reach & IndexFile;

export class VectorIndex {
  readonly #database: Database;
  readonly #dimension: number;
  /** Where the index is kept between runs; undefined: nowhere. */
  readonly #home: IndexHome | undefined;
  readonly #log: Log;
  #index: Index;
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
    this.#index = this.#empty();
    this.follow();
  }

  /** Rows with a key beyond this one are not in the index. */
  get lastKey(): number {
    return this.#reach.lastKey;
  }

  /** Keys of about the nearest vectors; none that was removed. */
  nearest(vector: Float32Array, count: number): number[] {
    this.#followRemovals();
    const size = this.#index.size();
    if (size === 0) return [];
    return Array.from(this.#index.search(vector, Math.min(count, size), 1).keys, Number);
  }

  /** Lets the index grow in the background where many rows are not in it. */
  follow(): void {
    const idle = this.#work === undefined && !this.#closed && !this.#broken;
    if (!idle || this.#tail() <= longestTail) return;
    this.#work = this.#catchUp()
      .catch((error: unknown) => {
        // Answers stay right without an index; they only take longer.
        this.#broken = true;
        const { collection } = this.#home ?? {};
        this.#log.warn("the index of vectors cannot be built; passages are compared one by one", {
          collection,
          reason: reasonOf(error),
        });
      })
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
  }

  /** An index that could not be saved is as good as before, in this process. */
  async #trySave(): Promise<void> {
    try {
      await this.#save();
    } catch (error) {
      this.#log.warn("the index of vectors was not saved; the next start builds it anew", {
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
    const index = this.#index;
    const next = this.#database.query<{ key: number; vector: Uint8Array }, [number]>(
      `select key, vector from passages where key > ? order by key limit ${slice}`,
    );
    while (!this.#closed) {
      const rows = next.all(this.#reach.lastKey);
      const last = rows.at(-1);
      if (last === undefined) break;
      index.add(
        BigUint64Array.from(rows, ({ key }) => BigInt(key)),
        this.#matrix(rows),
        1,
      );
      this.#reach.lastKey = last.key;
      this.#unsaved += rows.length;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    if (!this.#closed) await this.#trySave();
  }

  #followRemovals(): void {
    const removed = this.#database
      .query<{ seq: number; key: number }, [number]>(
        "select seq, key from removed where seq > ? order by seq",
      )
      .all(this.#reach.lastRemoval);
    for (const { seq, key } of removed) {
      if (key <= this.#reach.lastKey) this.#index.remove(BigInt(key));
      this.#reach.lastRemoval = seq;
    }
  }

  #empty(): Index {
    const { count = 0 } =
      this.#database.query<{ count: number }, []>("select count(*) as count from passages").get() ??
      {};
    return new Index({
      dimensions: this.#dimension,
      // Of vectors of unit length the product is the cosine, and the fastest to compute.
      metric: MetricKind.IP,
      // A byte a number finds the candidates; the rows' own numbers decide between them.
      quantization: ScalarKind.I8,
      connectivity: 32,
      expansion_add: 128,
      expansion_search: count > largeCollection ? expansion.far : expansion.near,
      multi: false,
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
    const index = this.#empty();
    const load = (path: string): void => index.load(path);
    const isWhole = await readIndexFile(this.#home.folder, saved, load, () => this.#closed);
    if (!isWhole || index.dimensions() !== this.#dimension) {
      if (!this.#closed) this.#damaged = saved.file;
      return;
    }
    this.#index = index;
    this.#reach = { lastKey: saved.lastKey, lastRemoval: saved.lastRemoval };
    this.#unsaved = 0;
  }

  /** Searches go on meanwhile: what is said of the file is how far the index was when it was written. */
  async #save(): Promise<void> {
    const index = this.#index;
    if (this.#home === undefined || this.#unsaved < worthSaving) return;
    this.#followRemovals();
    const { folder, collection } = this.#home;
    const reach = { ...this.#reach };
    const unsaved = this.#unsaved;
    // usearch writes on the event loop; who ingested has most often saved as much already.
    const there = this.#saved();
    const isThere = there !== undefined && there.file !== this.#damaged;
    if (isThere && there.lastKey + longestTail >= reach.lastKey) return;
    const file = await writeIndexFile(folder, collection, (path) => index.save(path));
    const before = this.#saved();
    // Since it began, the collection may have been dropped, or another process have saved more.
    const isGone = readMeta(this.#database, "dimension") === undefined;
    if (isGone || (before !== undefined && before.lastKey > reach.lastKey)) {
      removeIndexFile(folder, file);
      return;
    }
    writeMeta(this.#database, "index", JSON.stringify({ ...file, ...reach }));
    if (before !== undefined) removeIndexFile(folder, before);
    // What a process left that was killed while it saved.
    removeIndexFiles(folder, collection, Date.now() - abandonedAfterMs);
    // An index that missed these finds keys without rows, and skips them.
    this.#database
      .query<void, [number]>("delete from removed where seq <= ?")
      .run(reach.lastRemoval);
    this.#unsaved -= unsaved;
  }
}
