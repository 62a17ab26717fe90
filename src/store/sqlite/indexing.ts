/** Builds a collection's segments and their graphs from its rows, in steps that leave room for other work of the thread. */
import type { Database } from "bun:sqlite";
import { availableParallelism } from "node:os";
import { change, inTransaction, numberOf, rowsOf } from "../database.ts";
import { dimensionIn } from "./collection-file.ts";
import {
  hasSize,
  type IndexFile,
  removeFile,
  removeIndexFiles,
  writeIndexFile,
} from "./index-file.ts";
import { GrowingPart, type PartRow } from "./part.ts";
import {
  deleteSegment,
  hasVectors,
  insertSegment,
  lastSegmentKey,
  openVectors,
  type SegmentRow,
  segmentRows,
  writeVectors,
} from "./segment.ts";
import type { Pace } from "./sqlite-repository.ts";
import { VectorGraph } from "./usearch-index.ts";

/** Most rows to read for a segment in one step; some tens of milliseconds. A row takes a quarter of a vector's time in a graph. */
const readSlice = 1024;
const rowsPerVector = 4;
/** With more rows than this the index keeps up, and storing waits: a question compares them all, in memory. */
const mostWaiting = 65_536;
/** A segment that lost this share of its passages is rebuilt. */
const sparse = 0.25;
/** Files of processes that were killed while writing. */
const abandonedAfterMs = 3_600_000;
/** Free pages of the file that are worth giving back, and how many to give back in one step. */
const worthFreeing = 2048;
const freeSlice = 512;

/** usearch needs to know how many threads there can be. */
const most = availableParallelism();

/** Passages of a segment: a new one has `least`, and is replaced by larger ones up to `most`. */
export interface SegmentSizes {
  least: number;
  most: number;
}

/** Beyond the segments, a question compares up to `least` passages, which are read into memory when a collection is opened. */
const usualSizes: SegmentSizes = { least: 16_384, most: 262_144 };
/** While passages are being stored, a segment waits for so many times more. */
const patience = 4;

/** `graph`: a new one can be used. */
export type IndexingStep = "more" | "graph" | "done";

interface Job {
  step(pace: Pace): IndexingStep;
}

export interface IndexingOptions {
  database: Database;
  collection: string;
  folder: string;
  dimension: number;
  sizes?: SegmentSizes;
}

export class Indexing {
  readonly #options: IndexingOptions;
  readonly #sizes: SegmentSizes;
  #job: Job | undefined;

  constructor(options: IndexingOptions) {
    this.#options = options;
    this.#sizes = options.sizes ?? usualSizes;
  }

  step(pace: Pace): IndexingStep {
    this.#job ??= this.#plan(pace.isChanging)?.();
    if (this.#job === undefined) return "done";
    try {
      const done = this.#job.step(pace);
      if (done !== "more") this.#job = undefined;
      return done === "graph" ? "graph" : "more";
    } catch (error) {
      this.#job = undefined;
      throw error;
    }
  }

  isDone(): boolean {
    return this.#plan(false) === undefined;
  }

  /** What to do next, if anything: new rows first, since they are compared one by one until then. */
  #plan(isChanging: boolean): (() => Job) | undefined {
    const { database, folder } = this.#options;
    const { least, most } = this.#sizes;
    const segments = segmentRows(database);
    const last = segments.at(-1);
    const isGrowing = ({ count }: SegmentRow): boolean => count <= most - least;
    if (hasRows(database, lastSegmentKey(segments), isChanging ? patience * least : least)) {
      const replaced = last !== undefined && isGrowing(last) ? last : undefined;
      const from = replaced === undefined ? lastSegmentKey(segments) : replaced.first - 1;
      return () => new SegmentJob(this.#options, { replaced, from, room: most });
    }
    const worn = isChanging
      ? undefined
      : segments.find((segment) => isWorn(this.#options, segment));
    if (worn !== undefined) {
      const { first, last: end, count: room } = worn;
      return () => new SegmentJob(this.#options, { replaced: worn, from: first - 1, end, room });
    }
    // The last one will be replaced by a larger one, soon while passages are stored; comparing a few vectors is fast enough.
    const willGrow = (segment: SegmentRow): boolean =>
      segment === last && (segment.count < 2 * least || (isChanging && isGrowing(segment)));
    const bare = segments.find(
      (segment) =>
        !willGrow(segment) &&
        segment.count > 0 &&
        (segment.graph === undefined || !hasSize(folder, segment.graph)),
    );
    if (bare !== undefined) return () => new GraphJob(this.#options, bare);
    return hasFreePages(database) ? () => ({ step: () => giveBack(database) }) : undefined;
  }
}

/** Whether there are so many rows beyond a key. Those that were removed are counted: counting the rows takes 30 ms, and this is asked after every change. */
function hasRows(database: Database, key: number, count: number): boolean {
  const last = numberOf(database, "select max(key) from passages");
  if (last - key < count) return false;
  const sql = "select count(*) from removed where key > ? and key <= ?";
  return last - key - numberOf(database, sql, key, last) >= count;
}

/** Whether a segment must be rebuilt: it lacks its vectors, or many of its passages were removed. */
function isWorn(
  { database, folder, dimension }: IndexingOptions,
  { count, ...segment }: SegmentRow,
): boolean {
  if (count === 0) return false;
  if (!hasVectors(folder, segment.vectors, dimension)) return true;
  const sql = "select count(*) from removed where key between ? and ?";
  return numberOf(database, sql, segment.first, segment.last) > sparse * count;
}

interface SegmentPlan {
  /** The segment that it takes the place of. */
  replaced: SegmentRow | undefined;
  /** It has the rows after this key. */
  from: number;
  /** Its last key; default: that of the last row that there is room for. */
  end?: number;
  room: number;
}

/** Reads rows in slices, then writes their segment in one transaction. */
class SegmentJob implements Job {
  readonly #options: IndexingOptions;
  readonly #plan: SegmentPlan;
  readonly #part: GrowingPart;
  readonly #lastRemoval: number;
  #lastKey: number;

  constructor(options: IndexingOptions, plan: SegmentPlan) {
    this.#options = options;
    this.#plan = plan;
    this.#part = new GrowingPart(options.dimension, plan.room);
    this.#lastKey = plan.from;
    const sql = "select seq from sqlite_sequence where name = 'removed'";
    this.#lastRemoval = numberOf(options.database, sql);
  }

  step({ vectors }: Pace): IndexingStep {
    const { end = Number.MAX_SAFE_INTEGER } = this.#plan;
    const room = this.#part.keys.length - this.#part.count;
    const waiting =
      numberOf(this.#options.database, "select max(key) from passages") - this.#lastKey;
    const slice = waiting > mostWaiting ? readSlice : vectors * rowsPerVector;
    const most = Math.min(readSlice, slice, room);
    const rows = rowsOf<PartRow>(
      this.#options.database,
      "select key, terms, vector from passages where key > ? and key <= ? order by key limit ?",
      ...[this.#lastKey, end, most],
    );
    for (const row of rows) this.#part.add(row);
    this.#lastKey = rows.at(-1)?.key ?? this.#lastKey;
    // What is stored meanwhile waits for the next segment, or this one would never end.
    if (rows.length === most && !this.#part.isFull) return "more";
    this.#write();
    return "done";
  }

  #write(): void {
    const { database, folder, collection, dimension } = this.#options;
    const vectors = writeVectors(folder, collection, this.#part, dimension);
    const { replaced, from, end = this.#lastKey } = this.#plan;
    const range = { first: from + 1, last: end };
    keepIf(folder, vectors, () =>
      inTransaction(database, () => {
        // Meanwhile, another process may have done it, or dropped the collection.
        if (dimensionIn(database) === undefined || !this.#isWanted()) return false;
        if (replaced !== undefined) deleteSegment(database, replaced.id);
        insertSegment(database, this.#part, range, vectors);
        const sql = "delete from removed where seq <= ? and key between ? and ?";
        change(database, sql, this.#lastRemoval, range.first, range.last);
        return true;
      }),
    );
    const used = new Set(
      segmentRows(database).flatMap((row) => [row.vectors.file, row.graph?.file ?? ""]),
    );
    if (replaced !== undefined) removeFiles(folder, replaced, used);
    const before = Date.now() - abandonedAfterMs;
    removeIndexFiles(folder, collection, { used, before });
  }

  #isWanted(): boolean {
    const { replaced, from, end } = this.#plan;
    const segments = segmentRows(this.#options.database);
    const isThere = replaced === undefined || segments.some(({ id }) => id === replaced.id);
    const last = lastSegmentKey(segments);
    return isThere && (end !== undefined || last === (replaced?.last ?? from));
  }
}

function removeFiles(folder: string, { vectors, graph }: SegmentRow, used: Set<string>): void {
  for (const file of [vectors.file, graph?.file]) {
    if (file !== undefined && !used.has(file)) removeFile(folder, file);
  }
}

class GraphJob implements Job {
  readonly #options: IndexingOptions;
  readonly #segment: SegmentRow;
  readonly #vectors: Int8Array;
  readonly #graph: VectorGraph;
  #added = 0;

  constructor(options: IndexingOptions, segment: SegmentRow) {
    this.#options = options;
    this.#segment = segment;
    this.#vectors = openVectors(options.folder, segment);
    this.#graph = new VectorGraph(options.dimension);
  }

  step({ vectors, threads }: Pace): IndexingStep {
    const { dimension } = this.#options;
    const end = Math.min(this.#added + vectors, this.#segment.count);
    const slice = this.#vectors.subarray(this.#added * dimension, end * dimension);
    this.#graph.add(slice, { threads, most });
    this.#added = end;
    if (end < this.#segment.count) return "more";
    return this.#write() ? "graph" : "done";
  }

  #write(): boolean {
    const { database, folder, collection } = this.#options;
    const file: IndexFile = writeIndexFile(folder, collection, "usearch", (path) =>
      this.#graph.save(path),
    );
    const before = this.#segment.graph === undefined ? null : JSON.stringify(this.#segment.graph);
    const sql = "update segments set graph = ? where id = ? and graph is ?";
    const { id } = this.#segment;
    return keepIf(folder, file, () => change(database, sql, JSON.stringify(file), id, before) > 0);
  }
}

/** Removes a file that no row names: each try on a full disk would leave one. */
function keepIf(folder: string, { file }: IndexFile, isNamed: () => boolean): boolean {
  let isUsed = false;
  try {
    isUsed = isNamed();
    return isUsed;
  } finally {
    if (!isUsed) removeFile(folder, file);
  }
}

/** Whether the file has many free pages that it can give back. */
function hasFreePages(database: Database): boolean {
  const isIncremental = numberOf(database, "pragma auto_vacuum") === 2;
  return isIncremental && numberOf(database, "pragma freelist_count") > worthFreeing;
}

function giveBack(database: Database): IndexingStep {
  database.run(`pragma incremental_vacuum(${freeSlice})`);
  return hasFreePages(database) ? "more" : "done";
}
