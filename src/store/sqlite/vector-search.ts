/** Finds the nearest rows of a collection: candidates from its index, ranked by the rows' own vectors. */
import type { Database } from "bun:sqlite";
import type { DocumentSelection, SearchBounds } from "../../core/ports/passage-repository.ts";
import { change, rowsOf } from "../database.ts";
import { writing } from "./collection-file.ts";
import type { VectorIndex } from "./vector-index.ts";

interface Row {
  key: number;
  document: string;
  vector: Uint8Array;
}

/** Rows compared before yielding to the event loop: a few milliseconds. */
const scanPage = 2048;
/** Most rows of selected documents that are compared one by one: about as fast as the index with a selection. */
const fewRows = 20_000;
/** Most neighbours to request; if too few of them are selected, all rows are compared. */
const mostNeighbours = 4096;

export class VectorSearch {
  readonly #database: Database;
  readonly #index: VectorIndex;

  constructor(database: Database, index: VectorIndex) {
    this.#database = database;
    this.#index = index;
  }

  /** In descending score. A selection does not reduce the number of results, if there are enough rows. */
  async nearest(
    vector: Float32Array,
    { limit, scoreThreshold }: SearchBounds,
    documents?: DocumentSelection,
  ): Promise<readonly Candidate[]> {
    const best = new BestCandidates(limit, scoreThreshold);
    const isChosen = chooserOf(documents);
    const few = documents && "only" in documents ? this.#keysOf(documents.only) : undefined;
    if (few !== undefined) {
      await this.#compare(vector, few, best);
      return best.sorted;
    }
    // More than needed: the index is approximate, and the rows' own vectors decide.
    const wanted = 16 + 3 * limit;
    for (let count = wanted; ; count *= 4) {
      const { keys, lastKey } = await this.#index.nearest(vector, count);
      const rows = this.#rows(keys);
      const chosen = rows.filter(({ document }) => isChosen(document));
      const isEnough = chosen.length === rows.length || chosen.length >= wanted;
      const hasMore = keys.length === count && count < mostNeighbours;
      if (!isEnough && hasMore) continue;
      if (isEnough) for (const row of chosen) best.offer(scored(vector, row));
      await this.#scan(vector, isEnough ? lastKey : 0, isChosen, best);
      return best.sorted;
    }
  }

  score(vector: Float32Array, keys: readonly number[]): Candidate[] {
    return this.#rows(keys).map((row) => scored(vector, row));
  }

  #keysOf(documents: ReadonlySet<string>): number[] | undefined {
    const rows = rowsOf<{ key: number }>(
      this.#database,
      "select key from passages where document in (select value from json_each(?)) limit ?",
      ...[JSON.stringify([...documents]), fewRows + 1],
    );
    return rows.length > fewRows ? undefined : rows.map(({ key }) => key);
  }

  async #compare(
    vector: Float32Array,
    keys: readonly number[],
    best: BestCandidates,
  ): Promise<void> {
    for (let start = 0; start < keys.length; start += scanPage) {
      if (start > 0) await turn();
      const page = this.score(vector, keys.slice(start, start + scanPage));
      for (const candidate of page) best.offer(candidate);
    }
  }

  #rows(keys: readonly number[]): Row[] {
    const sql =
      "select key, document, vector from passages where key in (select value from json_each(?))";
    return rowsOf(this.#database, sql, JSON.stringify(keys));
  }

  async #scan(
    vector: Float32Array,
    after: number,
    isChosen: (document: string) => boolean,
    best: BestCandidates,
  ): Promise<void> {
    const sql = `select key, document, vector from passages where key > ? order by key limit ${scanPage}`;
    for (let last = after; ; await turn()) {
      const rows = rowsOf<Row>(this.#database, sql, last);
      for (const row of rows) if (isChosen(row.document)) best.offer(scored(vector, row));
      const end = rows.at(-1);
      if (end === undefined || rows.length < scanPage) return;
      last = end.key;
    }
  }
}

const scored = (vector: Float32Array, { key, vector: bytes }: Row): Candidate => ({
  key,
  score: cosine(vector, toVector(bytes)),
});

function chooserOf(documents: DocumentSelection | undefined): (document: string) => boolean {
  if (documents === undefined) return () => true;
  if ("only" in documents) return (document) => documents.only.has(document);
  return (document) => !documents.except.has(document);
}

export interface Candidate {
  key: number;
  score: number;
}

/** The best of many scored rows, without storing the rest. */
class BestCandidates {
  readonly #most: number;
  readonly #threshold: number;
  /** In descending score. */
  readonly sorted: Candidate[] = [];

  constructor(most: number, threshold: number) {
    this.#most = most;
    this.#threshold = threshold;
  }

  offer(candidate: Candidate): void {
    const { score } = candidate;
    const worst = this.sorted.at(-1);
    const isFull = this.sorted.length >= this.#most;
    if (score < this.#threshold || (isFull && score <= (worst?.score ?? 1))) return;
    const place = this.sorted.findIndex((other) => other.score < score);
    this.sorted.splice(place === -1 ? this.sorted.length : place, 0, candidate);
    if (this.sorted.length > this.#most) this.sorted.pop();
  }
}

/** Rows to remove at a time, with their words: some tens of milliseconds. */
const slice = 512;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Removes rows in slices, yielding in between; returns how many there were. If interrupted, only some are removed. */
export async function removeInSlices(
  database: Database,
  collection: string,
  rows: readonly { key: number }[],
): Promise<number> {
  const sql = "delete from passages where key in (select value from json_each(?))";
  let removed = 0;
  for (let start = 0; start < rows.length; start += slice) {
    if (start > 0) await turn();
    const some = JSON.stringify(rows.slice(start, start + slice).map(({ key }) => key));
    removed += writing(collection, () => change(database, sql, some));
  }
  return removed;
}

/** SQLite's bytes may have any offset; floats need a multiple of four. */
export function toVector(bytes: Uint8Array): Float32Array {
  return bytes.byteOffset % 4 === 0
    ? new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
    : new Float32Array(bytes.slice().buffer);
}

/** Cosine similarity of unit vectors, clamped to -1 to 1 against rounding. */
function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return Math.min(1, Math.max(-1, sum));
}
