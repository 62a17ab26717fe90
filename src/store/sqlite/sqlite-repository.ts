/** Passages in an embedded SQLite file: nothing to install, and nothing is lost in a crash. */
import type { Database, SQLQueryBindings } from "bun:sqlite";
import { NodeError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type {
  CollectionDescription,
  DocumentSelection,
  EmbeddedPassage,
  EmbeddingIdentity,
  Passage,
  PassageRepository,
  ScoredPassage,
  SearchBounds,
  StoredDocument,
  WordMatch,
} from "../../core/ports/passage-repository.ts";
import { checkVector } from "../../core/retrieval/collection.ts";
import { hasCurrentWords, readMeta, termsOf, writing } from "./collection-file.ts";
import { type IndexHome, VectorIndex } from "./vector-index.ts";
import {
  type Candidate,
  removeInSlices,
  sameBytes,
  toBytes,
  toVector,
  turn,
  VectorSearch,
} from "./vector-search.ts";
import { searchWords } from "./word-search.ts";

interface Row {
  key: number;
  id: string;
  document: string;
  heading: string;
  position: number;
  hash: string;
  document_hash: string;
  parts: number;
  source: string;
}

const columns = "key, id, document, heading, position, hash, document_hash, parts, source";
const page = 256;

export interface SqliteRepositoryOptions {
  database: Database;
  collection: string;
  /** Where the vector index is saved between runs; absent: nowhere. */
  indexHome?: IndexHome;
  log: Log;
}

export class SqliteRepository implements PassageRepository {
  readonly matchesWords: boolean;
  readonly #database: Database;
  readonly #collection: string;
  readonly #dimension: number;
  readonly #identity: string | undefined;
  readonly #index: VectorIndex;
  readonly #vectors: VectorSearch;

  constructor({ database, collection, indexHome, log }: SqliteRepositoryOptions) {
    this.#database = database;
    this.#collection = collection;
    this.matchesWords = hasCurrentWords(database);
    this.#dimension = Number(readMeta(database, "dimension"));
    this.#identity = readMeta(database, "embedding");
    const dimension = this.#dimension;
    this.#index = new VectorIndex({ database, dimension, home: indexHome, log });
    this.#vectors = new VectorSearch(database, this.#index);
  }

  async describe(): Promise<CollectionDescription> {
    const embedding = readMeta(this.#database, "embedding");
    return {
      name: this.#collection,
      dimension: this.#dimension,
      distance: "cosine",
      url: "embedded",
      ...(embedding === undefined ? {} : { embedding: toIdentity(embedding) }),
    };
  }

  async count(): Promise<number> {
    this.#checkIdentity();
    const row = this.#database
      .query<{ count: number }, []>("select count(*) as count from passages")
      .get();
    return row?.count ?? 0;
  }

  /** Keys are never reused, and every removal has a number. */
  async revision(): Promise<string> {
    const rows = this.#database
      .query<{ name: string; seq: number }, []>(
        "select name, seq from sqlite_sequence where name in ('passages', 'removed') order by name",
      )
      .all();
    return rows.map(({ name, seq }) => `${name} ${seq}`).join(", ");
  }

  async documents(): Promise<StoredDocument[]> {
    return this.#database
      .query<{ name: string; versions: number; hash: string; passages: number; parts: number }, []>(
        `select document as name, count(distinct document_hash) as versions,
           min(document_hash) as hash, count(*) as passages, max(parts) as parts
         from passages group by document`,
      )
      .all()
      .map(({ name, versions, hash, passages, parts }) => ({
        name,
        ...(versions === 1 ? { hash } : {}),
        passages,
        parts,
      }));
  }

  async *passages(document?: string): AsyncGenerator<EmbeddedPassage> {
    // One document's passages are found by the document index, all passages by key.
    const where = document === undefined ? "key > ?1" : "document = ?2 and +key > ?1";
    const next = this.#database.query<Row & { vector: Uint8Array }, (number | string)[]>(
      `select ${columns}, vector from passages where ${where} order by key limit ${page}`,
    );
    let last = 0;
    while (true) {
      const rows = document === undefined ? next.all(last) : next.all(last, document);
      for (const row of rows) yield { ...toPassage(row), vector: toVector(row.vector).slice() };
      const end = rows.at(-1);
      if (end === undefined) return;
      last = end.key;
      await turn();
    }
  }

  async page(
    document: string,
    { from, limit }: { from: number; limit: number },
  ): Promise<Passage[]> {
    return this.#database
      .query<Row, [string, number, number]>(
        `select ${columns} from passages where document = ? and position >= ?
         order by position, key limit ?`,
      )
      .all(document, from, limit)
      .map(toPassage);
  }

  async read(ids: readonly string[]): Promise<Passage[]> {
    this.#checkIdentity();
    return this.#database
      .query<Row, [string]>(
        `select ${columns} from passages where id in (select value from json_each(?))`,
      )
      .all(JSON.stringify(ids))
      .map(toPassage);
  }

  async upsert(passages: readonly EmbeddedPassage[]): Promise<void> {
    this.#checkIdentity();
    for (const { vector } of passages) this.#checkVector(vector);
    const storeAll = this.#database.transaction(() => {
      for (const passage of passages) this.#store(passage);
    });
    writing(this.#collection, () => storeAll.immediate());
    this.#index.follow();
  }

  async delete(document: string, keep: ReadonlySet<string> = new Set()): Promise<number> {
    const found = this.#database
      .query<{ key: number; id: string }, [string]>(
        "select key, id from passages where document = ?",
      )
      .all(document);
    const gone = found.filter(({ id }) => !keep.has(id)).map(({ key }) => key);
    return await removeInSlices(this.#database, this.#collection, gone);
  }

  async search(
    vector: Float32Array,
    bounds: SearchBounds,
    documents?: DocumentSelection,
  ): Promise<ScoredPassage[]> {
    this.#checkVector(vector);
    this.#checkIdentity();
    this.#index.follow();
    return this.#read(await this.#vectors.nearest(vector, bounds, documents));
  }

  async matchWords(
    text: string,
    vector: Float32Array,
    limit: number,
    documents?: DocumentSelection,
  ): Promise<WordMatch[]> {
    this.#checkVector(vector);
    if (!this.matchesWords) return [];
    const hits = new Map(
      searchWords(this.#database, text, limit, documents).map(({ key, words }) => [key, words]),
    );
    const scored = this.#vectors.score(vector, [...hits.keys()]);
    return this.#read(
      scored.map((candidate) => ({ ...candidate, words: hits.get(candidate.key) ?? 0 })),
    ).sort((a, b) => b.words - a.words);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#index.close();
    this.#database.close();
  }

  /** An unchanged passage keeps its key, so that the index needs no update. */
  #store(passage: EmbeddedPassage): void {
    const { id, document, heading, position, hash, documentHash, parts, source } = passage;
    const bytes = toBytes(passage.vector);
    const before = this.#database
      .query<{ key: number; source: string; vector: Uint8Array }, [string]>(
        "select key, source, vector from passages where id = ?",
      )
      .get(id);
    if (before !== null && before.source === source && sameBytes(before.vector, bytes)) {
      this.#database
        .query<void, [string, string, number, string, string, number, number]>(
          `update passages set document = ?, heading = ?, position = ?, hash = ?,
             document_hash = ?, parts = ? where key = ?`,
        )
        .run(document, heading, position, hash, documentHash, parts, before.key);
      return;
    }
    if (before !== null) {
      this.#database.query<void, [number]>("delete from passages where key = ?").run(before.key);
    }
    this.#database
      .query<void, SQLQueryBindings[]>(
        `insert into passages
           (id, document, heading, position, hash, document_hash, parts, vector, source, terms)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        ...[id, document, heading, position, hash, documentHash, parts],
        ...[bytes, source, termsOf(source)],
      );
  }

  /** The candidates' passages, in the same order. */
  #read<Found extends Candidate>(candidates: readonly Found[]): (Passage & Omit<Found, "key">)[] {
    const rows = new Map(
      this.#database
        .query<Row, [string]>(
          `select ${columns} from passages where key in (select value from json_each(?))`,
        )
        .all(JSON.stringify(candidates.map(({ key }) => key)))
        .map((row) => [row.key, row]),
    );
    return candidates.flatMap(({ key, ...scores }) => {
      const row = rows.get(key);
      return row === undefined ? [] : [{ ...toPassage(row), ...scores }];
    });
  }

  /** Another process may have dropped the collection, and created it again for another model. */
  #checkIdentity(): void {
    const now = readMeta(this.#database, "embedding");
    if (now === this.#identity || now === undefined) return;
    throw new NodeError(
      "collection_mismatch",
      `The collection '${this.#collection}' was dropped and created again for another model since it was opened. Start the node again.`,
    );
  }

  #checkVector(vector: Float32Array): void {
    checkVector(vector, { name: this.#collection, dimension: this.#dimension });
  }
}

function toPassage(row: Row): Passage {
  const { id, source, document, heading, position, hash, document_hash: documentHash, parts } = row;
  return { id, source, document, heading, position, hash, documentHash, parts };
}

export function toIdentity(text: string): EmbeddingIdentity {
  const { model, fingerprint, queryPrefix, documentPrefix } = JSON.parse(text);
  return { model, fingerprint, queryPrefix, documentPrefix };
}
