/** A collection's file and its index, for the threads that read and write it. Every method blocks. */
import type { Database, SQLQueryBindings } from "bun:sqlite";
import type {
  CollectionDescription,
  CollectionSpec,
  Passage,
  ScoredPassage,
  SearchBounds,
  StoredDocument,
  WordMatch,
} from "../../core/ports/passage-repository.ts";
import { change, insert, inTransaction, rowOf, rowsOf, update } from "../database.ts";
import type { DocumentNames } from "../document-names.ts";
import {
  countPassages,
  descriptionOf,
  dimensionIn,
  isBlank,
  pageSize,
  removeRows,
  writing,
} from "./collection-file.ts";
import { hasCurrentWords, termsOf } from "./collection-tables.ts";
import { type IndexFile, isWhole } from "./index-file.ts";
import type { IndexingStep } from "./indexing.ts";
import type { Pace } from "./sqlite-repository.ts";
import { type Candidate, scoreRows } from "./vector-search.ts";
import { type CollectionPlace, type Held, WatchedCollection } from "./watched-collection.ts";

export interface OpenedCollection extends Held {
  matchesWords: boolean;
  /** Whether an older file was brought to the present form. */
  isRebuilt: boolean;
}

const columns =
  "key, id, source, document, heading, position, hash, document_hash as documentHash, parts";

export interface PassageRow extends Passage {
  key: number;
}

export class CollectionRows implements Disposable {
  readonly #place: CollectionPlace;
  readonly #file: WatchedCollection;

  constructor(place: CollectionPlace) {
    this.#place = place;
    this.#file = new WatchedCollection(place);
  }

  /** Creates the collection if a spec is given. Undefined if there is none. */
  open(spec?: CollectionSpec): OpenedCollection | undefined {
    const { path } = this.#place;
    if (spec === undefined && isBlank(path)) return undefined;
    let isRebuilt = false;
    const { database, dimension, identity } = this.#file.open(spec, () => {
      isRebuilt = true;
    });
    return { dimension, identity, matchesWords: hasCurrentWords(database), isRebuilt };
  }

  describe(): CollectionDescription {
    const { database, dimension } = this.#file.opened;
    return descriptionOf(database, this.#place.name, dimension);
  }

  count(): number {
    return countPassages(this.#file.checked.database);
  }

  /** Keys are never reused, and every removal has a number. */
  revision(): string {
    const rows = rowsOf<{ name: string; seq: number }>(
      this.#file.opened.database,
      "select name, seq from sqlite_sequence where name in ('passages', 'removed') order by name",
    );
    return rows.map(({ name, seq }) => `${name} ${seq}`).join(", ");
  }

  /** A page of documents by name, after a name. */
  documents(after: string | null): StoredDocument[] {
    const rows = rowsOf<Required<StoredDocument> & { isOne: number }>(
      this.#file.opened.database,
      `select document as name, min(document_hash) = max(document_hash) as isOne,
         min(document_hash) as hash, count(*) as passages, max(parts) as parts
       from passages where document ${after === null ? ">=" : ">"} ?
       group by document limit ${pageSize}`,
      after ?? "",
    );
    return rows.map(({ isOne, hash, ...document }) => ({
      ...document,
      ...(isOne === 1 && { hash }),
    }));
  }

  /** A page of passages with their vectors, after one of them. */
  passages(
    { key, position }: { key: number; position: number },
    document?: string,
  ): (PassageRow & { vector: Uint8Array })[] {
    // In the order of an index, so that no page is searched for from the beginning.
    const where =
      document === undefined
        ? "key > ?1 order by key"
        : "document = ?2 and (position, key) > (?3, ?1) order by position, key";
    const sql = `select ${columns}, vector from passages where ${where} limit ${pageSize}`;
    const named = document === undefined ? [] : [document, position];
    return rowsOf(this.#file.opened.database, sql, key, ...named);
  }

  page(document: string, { from, limit }: { from: number; limit: number }): Passage[] {
    const where = "document = ? and position >= ? order by position, key limit ?";
    return this.#rows(where, document, from, limit).map(toPassage);
  }

  read(ids: readonly string[]): Passage[] {
    const { database: _ } = this.#file.checked;
    const where = "id in (select value from json_each(?))";
    return this.#rows(where, JSON.stringify(ids)).map(toPassage);
  }

  /** `vectors`: those of all passages, one after the other. */
  upsert(passages: readonly Passage[], vectors: Float32Array): void {
    const opened = this.#file.checked;
    const { database, dimension } = opened;
    const bytes = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
    const storeAll = (): void => {
      this.#file.describeAgain(opened);
      for (const [at, passage] of passages.entries()) {
        const start = at * dimension * 4;
        store(database, passage, bytes.subarray(start, start + dimension * 4));
      }
    };
    writing(this.#place.name, () => inTransaction(database, storeAll));
    this.#file.changed();
  }

  /** Keys and ids of a document's passages after a key. */
  ids(document: string, after: number, limit: number): { key: number; id: string }[] {
    const sql = "select key, id from passages where document = ? and key > ? order by key limit ?";
    return rowsOf(this.#file.checked.database, sql, document, after, limit);
  }

  remove(keys: readonly number[]): number {
    const removed = removeRows(this.#file.checked.database, this.#place.name, keys);
    this.#file.changed();
    return removed;
  }

  search(vector: Float32Array, bounds: SearchBounds, documents?: DocumentNames): ScoredPassage[] {
    return this.#atOnce(() => {
      const { search } = this.#file.checked;
      return this.#read(search.nearest(vector, bounds, documents));
    });
  }

  matchWords(
    text: string,
    vector: Float32Array,
    limit: number,
    documents?: DocumentNames,
  ): WordMatch[] {
    return this.#atOnce(() => {
      const { database, search } = this.#file.checked;
      if (!hasCurrentWords(database)) return [];
      const hits = new Map(
        search.words(text, limit, documents).map(({ key, words }) => [key, words]),
      );
      const scored = scoreRows(database, vector, [...hits.keys()]);
      return this.#read(
        scored.map((candidate) => ({ ...candidate, words: hits.get(candidate.key) ?? 0 })),
      ).sort((one, other) => other.words - one.words);
    });
  }

  /** A file of the index that may be damaged. */
  unread(): IndexFile | undefined {
    return this.#file.opened.search.unread();
  }

  /** Reads all of a file of the index. */
  isWhole(file: IndexFile): boolean {
    const { folder } = this.#place;
    return folder !== undefined && isWhole(folder, file);
  }

  wasRead(file: IndexFile, isWholeFile: boolean): void {
    this.#file.opened.search.wasRead(file, isWholeFile);
  }

  /** Whether the index has nothing left to do. */
  isIndexed(): boolean {
    return this.#file.opened.indexing?.isDone() ?? true;
  }

  /** Takes a step towards an index that has all rows. */
  index(pace: Pace): IndexingStep {
    const { database, indexing } = this.#file.checked;
    // A dropped collection needs none.
    if (indexing === undefined || dimensionIn(database) === undefined) return "done";
    const step = indexing.step(pace);
    if (step !== "done") this.#file.changed();
    return step;
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }

  /** In one view of the file: meanwhile a segment may take the place of another. */
  #atOnce<Result>(read: () => Result): Result {
    return this.#file.opened.database.transaction(read).deferred();
  }

  #rows(where: string, ...values: SQLQueryBindings[]): PassageRow[] {
    const sql = `select ${columns} from passages where ${where}`;
    return rowsOf(this.#file.opened.database, sql, ...values);
  }

  #read<Found extends Candidate>(candidates: readonly Found[]): (Passage & Omit<Found, "key">)[] {
    const keys = JSON.stringify(candidates.map(({ key }) => key));
    const found = this.#rows("key in (select value from json_each(?))", keys);
    const rows = new Map(found.map((row) => [row.key, row]));
    return candidates.flatMap(({ key, ...scores }) => {
      const row = rows.get(key);
      return row === undefined ? [] : [{ ...toPassage(row), ...scores }];
    });
  }
}

/** An unchanged passage keeps its key, so that the index needs no update. */
function store(database: Database, passage: Passage, vector: Uint8Array): void {
  const { id, document, heading, position, hash, documentHash, parts, source } = passage;
  const before = rowOf<{ key: number; source: string; vector: Uint8Array }>(
    database,
    "select key, source, vector from passages where id = ?",
    id,
  );
  const fields = { document, heading, position, hash, document_hash: documentHash, parts };
  if (before?.source === source && Buffer.compare(before.vector, vector) === 0) {
    update(database, "passages", fields, "key = ?", before.key);
    return;
  }
  if (before !== undefined) change(database, "delete from passages where key = ?", before.key);
  insert(database, "passages", { ...fields, id, vector, source, terms: termsOf(source) });
}

export const toPassage = ({ key, ...passage }: PassageRow): Passage => passage;
