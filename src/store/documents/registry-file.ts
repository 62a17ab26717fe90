/** The file of the registry: opened when it is first needed, readable by its owner only. */
import { Database } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { openImmutable } from "../immutable-database.ts";
import { remedyFor } from "../sqlite/errors.ts";
import { prepareTables } from "./tables.ts";

const ownerOnly = 0o600;
const folderOfOwner = 0o700;

export class RegistryFile implements Disposable {
  readonly #path: string;
  #database: Database | undefined;

  /** No file is made until something is written. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Asks the registry; `nothing` is the answer where there is none yet. */
  read<Result>(query: (database: Database) => Result, nothing: Result): Result {
    if (this.#database === undefined && !existsSync(this.#path)) return nothing;
    return this.#translating("read", () => query(this.#open()));
  }

  /** Changes it, all or nothing. */
  write<Result>(change: (database: Database) => Result): Result {
    return this.#translating("written", () => {
      const database = this.#open();
      return database.transaction(() => change(database)).immediate();
    });
  }

  [Symbol.dispose](): void {
    this.#database?.close();
    this.#database = undefined;
  }

  #open(): Database {
    this.#database ??= openRegistry(this.#path);
    return this.#database;
  }

  #translating<Result>(what: string, work: () => Result): Result {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof NodeError) throw cause;
      throw new NodeError(
        "unavailable",
        `The registry of documents cannot be ${what}: ${remedyFor(cause) ?? `${reasonOf(cause)}; restore it from a backup`}. Its file is ${this.#path}.`,
        { cause },
      );
    }
  }
}

function openRegistry(path: string): Database {
  mkdirSync(dirname(path), { recursive: true, mode: folderOfOwner });
  let database: Database | undefined;
  try {
    // SQLite would make it readable by everyone; the files that it makes beside it get the same rights.
    if (!existsSync(path)) closeSync(openSync(path, "a", ownerOnly));
    database = new Database(path, { create: true, strict: true });
    database.run("pragma busy_timeout = 10000");
    database.run("pragma journal_mode = wal");
    database.run("pragma synchronous = full");
    prepareTables(database);
    return database;
  } catch (cause) {
    database?.close();
    const immutable = openImmutable(path, cause);
    if (immutable !== undefined) return immutable;
    throw cause;
  }
}
