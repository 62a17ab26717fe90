/** Collections as files of one folder: `<name>.sqlite`, and beside it the index that can be rebuilt. */
import { Database } from "bun:sqlite";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { NodeError, reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type {
  CollectionHome,
  CollectionSpec,
  PassageRepository,
} from "../../core/ports/passage-repository.ts";
import { removeIndexFiles } from "./index-file.ts";
import { prepareTables, readMeta, writeMeta } from "./schema.ts";
import { SqliteRepository } from "./sqlite-repository.ts";

const extension = ".sqlite";

export class SqliteHome implements CollectionHome {
  readonly #folder: string;
  readonly #log: Log;

  constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  async list(): Promise<string[]> {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder)
      .filter((file) => file.endsWith(extension))
      .map((file) => file.slice(0, -extension.length))
      .sort();
  }

  async open(name: string): Promise<PassageRepository | undefined> {
    return existsSync(this.#path(name)) ? this.#open(name) : undefined;
  }

  async create(name: string, spec: CollectionSpec): Promise<PassageRepository> {
    mkdirSync(this.#folder, { recursive: true });
    return this.#open(name, spec);
  }

  async drop(name: string): Promise<void> {
    for (const suffix of ["", "-wal", "-shm"]) {
      rmSync(`${this.#path(name)}${suffix}`, { force: true });
    }
    removeIndexFiles(this.#folder, name);
  }

  #path(name: string): string {
    return join(this.#folder, `${name}${extension}`);
  }

  #open(name: string, spec?: CollectionSpec): PassageRepository {
    const database = openDatabase(name, this.#path(name), spec);
    return new SqliteRepository({
      database,
      collection: name,
      indexHome: { folder: this.#folder, collection: name },
      log: this.#log,
    });
  }
}

/** A file that is not there is made where a spec says what for; one that is there stays what it is. */
export function openDatabase(name: string, path: string, spec?: CollectionSpec): Database {
  let database: Database | undefined;
  try {
    database = new Database(path, { create: spec !== undefined, readwrite: true, strict: true });
    database.run("pragma busy_timeout = 10000");
    database.run("pragma journal_mode = wal");
    database.run("pragma synchronous = full");
    prepareTables(database);
    if (spec !== undefined && readMeta(database, "dimension") === undefined) {
      writeMeta(database, "embedding", JSON.stringify(spec.embedding));
      writeMeta(database, "dimension", String(spec.dimension));
    }
    if (readMeta(database, "dimension") === undefined) {
      throw new Error("it does not say what vectors it holds");
    }
    return database;
  } catch (cause) {
    database?.close();
    throw new NodeError(
      "unavailable",
      `The collection '${name}' cannot be opened: ${reasonOf(cause)}. Its file is ${path}; restore it from a backup, or move it away to start anew.`,
      { cause },
    );
  }
}
