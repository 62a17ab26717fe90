/** Passages in an embedded SQLite file: nothing to install, and nothing is lost in a crash. */
import type { Database, SQLQueryBindings } from "bun:sqlite";
import { NodeError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type {
  CollectionDescription,
  EmbeddedPassage,
  Passage,
  PassageRepository,
  StoredDocument,
} from "../../core/ports/passage-repository.ts";
import { checkVector } from "../../core/retrieval/collection.ts";
import { change, insert, rowOf, rowsOf, update } from "../database.ts";
import {
  countPassages,
  descriptionOf,
  dimensionIn,
  hasCurrentWords,
  readMeta,
  removeInSlices,
  termsOf,
  toVector,
  turn,
  writing,
} from "./collection-file.ts";
import { type Candidate, nearestRows, scoreRows, searchWords } from "./vector-and-word-search.ts";
import { VectorIndex } from "./vector-index.ts";

interface Row extends Passage {
  key: number;
}

const columns =
  "key, id, source, document, heading, position, hash, document_hash as documentHash, parts";
const page = 256;

export class SqliteRepository implements PassageRepository {
  readonly matchesWords: boolean;
  readonly #database: Database;
  readonly #collection: string;
  readonly #dimension: number;
  readonly #identity: string | undefined;
  readonly #index: VectorIndex;

  /** `folder`: where the vector index is saved between runs; default: nowhere. */
  constructor(collection: string, database: Database, log: Log, folder?: string) {
    this.#database = database;
    this.#collection = collection;
    this.matchesWords = hasCurrentWords(database);
    this.#dimension = dimensionIn(database) ?? 0;
    this.#identity = readMeta(database, "embedding");
    const dimension = this.#dimension;
    this.#index = new VectorIndex({ database, collection, dimension, folder, log });
  }

  async describe(): Promise<CollectionDescription> {
    return descriptionOf(this.#database, this.#collection, this.#dimension);
  }

  async count(): Promise<number> {
    this.#checkIdentity();
    return countPassages(this.#database);
  }

  /** Keys are never reused, and every removal has a number. */
  async revision(): Promise<string> {
    const rows = rowsOf<{ name: string; seq: number }>(
      this.#database,
      "select name, seq from sqlite_sequence where name in ('passages', 'removed') order by name",
    );
    return rows.map(({ name, seq }) => `${name} ${seq}`).join(", ");
  }

  async documents(): Promise<StoredDocument[]> {
    const rows = rowsOf<Required<StoredDocument> & { versions: number }>(
      this.#database,
      `select document as name, count(distinct document_hash) as versions,
         min(document_hash) as hash, count(*) as passages, max(parts) as parts
       from passages group by document`,
    );
    return rows.map(({ versions, hash, ...document }) => ({
      ...document,
      ...(versions === 1 && { hash }),
    }));
  }

  async *passages(document?: string): AsyncGenerator<EmbeddedPassage> {
    // In the order of an index, so that no page is searched for from the beginning.
    const where =
      document === undefined
        ? "key > ?1 order by key"
        : "document = ?2 and (position, key) > (?3, ?1) order by position, key";
    const sql = `select ${columns}, vector from passages where ${where} limit ${page}`;
    let [last, position] = [0, -1];
    for (; ; await turn()) {
      const named = document === undefined ? [] : [document, position];
      const rows = rowsOf<Row & { vector: Uint8Array }>(this.#database, sql, last, ...named);
      for (const row of rows) yield { ...toPassage(row), vector: toVector(row.vector).slice() };
      const end = rows.at(-1);
      if (end === undefined) return;
      ({ key: last, position } = end);
    }
  }

  page: PassageRepository["page"] = async (document, { from, limit }) => {
    const where = "document = ? and position >= ? order by position, key limit ?";
    return this.#rows(where, document, from, limit).map(toPassage);
  };

  async read(ids: readonly string[]): Promise<Passage[]> {
    this.#checkIdentity();
    const where = "id in (select value from json_each(?))";
    return this.#rows(where, JSON.stringify(ids)).map(toPassage);
  }

  async upsert(passages: readonly EmbeddedPassage[]): Promise<void> {
    this.#checkIdentity();
    for (const { vector } of passages) this.#checkVector(vector);
    const storeAll = this.#database.transaction(() => {
      for (const passage of passages) this.#store(passage);
    });
    await writing(this.#collection, () => storeAll.immediate());
    this.#index.follow();
  }

  async delete(document: string, keep: ReadonlySet<string> = new Set()): Promise<number> {
    const sql = "select key, id from passages where document = ?";
    const found = rowsOf<{ key: number; id: string }>(this.#database, sql, document);
    const gone = found.filter(({ id }) => !keep.has(id));
    return await removeInSlices(this.#database, this.#collection, gone);
  }

  search: PassageRepository["search"] = async (vector, bounds, documents) => {
    this.#checkVector(vector);
    this.#checkIdentity();
    this.#index.follow();
    return this.#read(await nearestRows(this.#database, this.#index, vector, bounds, documents));
  };

  matchWords: PassageRepository["matchWords"] = async (text, vector, limit, documents) => {
    this.#checkVector(vector);
    if (!this.matchesWords) return [];
    const hits = new Map(
      searchWords(this.#database, text, limit, documents).map(({ key, words }) => [key, words]),
    );
    const scored = scoreRows(this.#database, vector, [...hits.keys()]);
    return this.#read(
      scored.map((candidate) => ({ ...candidate, words: hits.get(candidate.key) ?? 0 })),
    ).sort((a, b) => b.words - a.words);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#index.close();
    this.#database.close();
  }

  /** An unchanged passage keeps its key, so that the index needs no update. */
  #store(passage: EmbeddedPassage): void {
    const { id, document, heading, position, hash, documentHash, parts, source } = passage;
    const database = this.#database;
    const { buffer, byteOffset, byteLength } = passage.vector;
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    const before = rowOf<{ key: number; source: string; vector: Uint8Array }>(
      database,
      "select key, source, vector from passages where id = ?",
      id,
    );
    const fields = { document, heading, position, hash, document_hash: documentHash, parts };
    if (before?.source === source && Buffer.compare(before.vector, bytes) === 0) {
      update(database, "passages", fields, "key = ?", before.key);
      return;
    }
    if (before !== undefined) change(database, "delete from passages where key = ?", before.key);
    insert(database, "passages", { ...fields, id, vector: bytes, source, terms: termsOf(source) });
  }

  #rows(where: string, ...values: SQLQueryBindings[]): Row[] {
    return rowsOf(this.#database, `select ${columns} from passages where ${where}`, ...values);
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

  /** Another process may have dropped the collection, and created it again for another model. */
  #checkIdentity(): void {
    const now = readMeta(this.#database, "embedding");
    if (now === this.#identity || now === undefined) return;
    const why = `The collection '${this.#collection}' was dropped and created again for another model since it was opened. Start the node again.`;
    throw new NodeError("collection_mismatch", why);
  }

  #checkVector(vector: Float32Array): void {
    checkVector(vector, { name: this.#collection, dimension: this.#dimension });
  }
}

const toPassage = ({ key, ...passage }: Row): Passage => passage;
