/** The nearest rows of a collection: candidates from its index, decided by the rows' own vectors. */
import type { Database } from "bun:sqlite";
import type { DocumentSelection, SearchBounds } from "../../core/ports/passage-repository.ts";
import { BestCandidates, type Candidate } from "./best-candidates.ts";
import { turn } from "./slices.ts";
import type { VectorIndex } from "./vector-index.ts";
import { cosine, toVector } from "./vectors.ts";

interface Row {
  key: number;
  document: string;
  vector: Uint8Array;
}

/** Rows compared before yielding to the event loop: a few milliseconds. */
const scanPage = 2048;
/** Rows of chosen documents that are compared one by one: about as long as the index takes to find them among others. */
const fewRows = 20_000;
/** Neighbours that are asked for at most; where too few of them are chosen, all rows are compared. */
const mostNeighbours = 4096;

export class VectorSearch {
  readonly #database: Database;
  readonly #index: VectorIndex;

  constructor(database: Database, index: VectorIndex) {
    this.#database = database;
    this.#index = index;
  }

  /** In descending score. With a selection as many as without, where there are so many. */
  async nearest(
    vector: Float32Array,
    { limit, scoreThreshold }: SearchBounds,
    documents?: DocumentSelection,
  ): Promise<readonly Candidate[]> {
    const best = new BestCandidates(limit, scoreThreshold);
    const isChosen = chooserOf(documents);
    if (documents !== undefined && "only" in documents) {
      const keys = this.#keysOf(documents.only);
      if (keys !== undefined) {
        await this.#compare(vector, keys, best);
        return best.sorted();
      }
    }
    // More than are asked for: the index is a little off, the rows' own vectors decide.
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
      return best.sorted();
    }
  }

  score(vector: Float32Array, keys: readonly number[]): Candidate[] {
    return this.#rows(keys).map((row) => scored(vector, row));
  }

  /** The keys of the documents' rows; undefined where they are many. */
  #keysOf(documents: ReadonlySet<string>): number[] | undefined {
    const rows = this.#database
      .query<{ key: number }, [string, number]>(
        "select key from passages where document in (select value from json_each(?)) limit ?",
      )
      .all(JSON.stringify([...documents]), fewRows + 1);
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
    return this.#database
      .query<Row, [string]>(
        "select key, document, vector from passages where key in (select value from json_each(?))",
      )
      .all(JSON.stringify(keys));
  }

  /** Compares every chosen row beyond a key. */
  async #scan(
    vector: Float32Array,
    after: number,
    isChosen: (document: string) => boolean,
    best: BestCandidates,
  ): Promise<void> {
    const next = this.#database.query<Row, [number]>(
      `select key, document, vector from passages where key > ? order by key limit ${scanPage}`,
    );
    let last = after;
    while (true) {
      const rows = next.all(last);
      for (const row of rows) if (isChosen(row.document)) best.offer(scored(vector, row));
      const end = rows.at(-1);
      if (end === undefined || rows.length < scanPage) return;
      last = end.key;
      await turn();
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
