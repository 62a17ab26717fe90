/** Passages in an embedded SQLite file: nothing to install, nothing lost in a crash. */
import { Database } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { NodeError } from "../../core/errors.ts";
import type {
  CollectionDescription,
  EmbeddedPassage,
  PassageRepository,
  ScoredPassage,
  SearchBounds,
} from "../../core/ports/passage-repository.ts";

interface Row {
  id: string;
  document: string;
  source: string;
  vector: Uint8Array;
}

export interface SqliteRepositoryOptions {
  path: string;
  collection: string;
  dimension: number;
}

const schema = `
  create table if not exists meta (key text primary key, value text not null) strict;
  create table if not exists passages (
    id text primary key,
    document text not null,
    source text not null,
    vector blob not null
  ) strict;
  create index if not exists passages_by_document on passages (document);
`;

export class SqliteRepository implements PassageRepository {
  readonly #database: Database;
  readonly #collection: string;
  readonly #dimension: number;

  private constructor(database: Database, { collection, dimension }: SqliteRepositoryOptions) {
    this.#database = database;
    this.#collection = collection;
    this.#dimension = dimension;
  }

  /** Opens the collection's file, making it where there is none; refuses one of another dimension. */
  static open(options: SqliteRepositoryOptions): SqliteRepository {
    mkdirSync(dirname(options.path), { recursive: true });
    const database = new Database(options.path, { create: true, strict: true });
    try {
      database.run("pragma busy_timeout = 10000");
      database.run("pragma journal_mode = wal");
      database.run("pragma synchronous = full");
      database.run(schema);
      checkDimension(database, options);
      return new SqliteRepository(database, options);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  async upsert(passages: readonly EmbeddedPassage[]): Promise<void> {
    for (const { vector } of passages) this.#checkVector(vector);
    const insert = this.#database.query<void, [string, string, string, Uint8Array]>(
      `insert into passages (id, document, source, vector) values (?, ?, ?, ?)
       on conflict (id) do update set
         document = excluded.document, source = excluded.source, vector = excluded.vector`,
    );
    this.#database.transaction(() => {
      for (const { id, document, source, vector } of passages) {
        insert.run(id, document, source, toBytes(vector));
      }
    })();
  }

  async search(
    vector: Float32Array,
    { limit, scoreThreshold }: SearchBounds,
  ): Promise<ScoredPassage[]> {
    this.#checkVector(vector);
    const found: ScoredPassage[] = [];
    const rows = this.#database.query<Row, []>("select id, document, source, vector from passages");
    for (const { id, document, source, vector: bytes } of rows.iterate()) {
      const score = dot(vector, toVector(bytes));
      if (score >= scoreThreshold) found.push({ id, document, source, score });
    }
    return found.sort((a, b) => b.score - a.score).slice(0, limit);
  }

  async delete(document: string, keep: ReadonlySet<string> = new Set()): Promise<number> {
    return this.#database
      .query<void, [string, string]>(
        "delete from passages where document = ? and id not in (select value from json_each(?))",
      )
      .run(document, JSON.stringify([...keep])).changes;
  }

  async count(): Promise<number> {
    const row = this.#database
      .query<{ count: number }, []>("select count(*) as count from passages")
      .get();
    return row?.count ?? 0;
  }

  async describe(): Promise<CollectionDescription> {
    return {
      name: this.#collection,
      dimension: this.#dimension,
      distance: "cosine",
      url: "embedded",
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#database.close();
  }

  #checkVector(vector: Float32Array): void {
    if (vector.length === this.#dimension) return;
    throw new NodeError(
      "invalid_request",
      `The collection '${this.#collection}' holds vectors of ${this.#dimension} numbers; this one has ${vector.length}.`,
    );
  }
}

function checkDimension(
  database: Database,
  { path, collection, dimension }: SqliteRepositoryOptions,
): void {
  database
    .query("insert into meta (key, value) values ('dimension', ?) on conflict (key) do nothing")
    .run(String(dimension));
  const stored = database
    .query<{ value: string }, []>("select value from meta where key = 'dimension'")
    .get()?.value;
  if (stored === String(dimension)) return;
  throw new NodeError(
    "unavailable",
    `The collection '${collection}' was filled by an embedding model with ${stored} dimensions; the configured one has ${dimension}. Configure the model that filled it, name another collection, or remove ${path} to start anew.`,
  );
}

function toBytes({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** SQLite's bytes may start anywhere; floats must start at a multiple of four. */
function toVector(bytes: Uint8Array): Float32Array {
  return bytes.byteOffset % 4 === 0
    ? new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
    : new Float32Array(bytes.slice().buffer);
}

/** Cosine similarity of vectors of unit length. */
function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}
