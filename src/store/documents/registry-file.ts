/** The file of the registry: opened when it is first needed, readable by its owner only. */
import type { Database } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { basename } from "node:path";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { openOwnDatabase } from "../own-database.ts";
import { remedyFor } from "../sqlite/errors.ts";
import { documentTables } from "./tables.ts";

/** A part of the registry's port as the thread has it, where nothing has to be waited for. */
export type Rows<Part> = {
  [Name in keyof Part]: Part[Name] extends (...args: infer Args) => Promise<infer Result>
    ? (...args: Args) => Result
    : never;
};

export class RegistryFile implements Disposable {
  readonly #path: string;
  #database: Database | undefined;

  /** No file is made until something is written. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Asks the registry; `nothing` is the answer where there is none yet. */
  read<Result>(query: (database: Database) => Result, nothing: Result): Result {
    if (this.#database === undefined && !isThere(this.#path)) return nothing;
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
    if (this.#database === undefined) {
      checkJournal(this.#path);
      this.#database = openOwnDatabase(this.#path, documentTables);
    }
    return this.#database;
  }

  #translating<Result>(what: string, work: () => Result): Result {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof NodeError) throw cause;
      throw new NodeError(
        "unavailable",
        `The registry of documents cannot be ${what}: ${remedyFor(cause) ?? `${reasonOf(cause)}; restore it from a backup, or move it away and run 'paddock documents recover'`}. Its file is ${this.#path}.`,
        { cause },
      );
    }
  }
}

/** An empty file is no registry: what was in it is lost, and nothing follows from what it does not know. */
export const isThere = (path: string): boolean => existsSync(path) && statSync(path).size > 0;

/** SQLite would delete what a process that was killed left beside a registry which is somewhere else now. */
function checkJournal(path: string): void {
  const journal = `${path}-wal`;
  if (isThere(path) || !isThere(journal)) return;
  throw new NodeError(
    "unavailable",
    `The registry of documents is missing, and ${basename(journal)} still has changes that belong to it. Move ${basename(path)} back beside it, or move that file away too.`,
  );
}
