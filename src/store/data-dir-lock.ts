/** A lock on part of a data dir that one process at a time may write: documents, background responses. */
import { Database } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { hasCode, NodeError, reasonOf } from "../core/errors.ts";
import { remedyFor, stampOf } from "./database.ts";

export class DataDirLock implements Disposable {
  readonly #path: string;
  readonly #what: string;
  /** SQLite's locks work between processes on every system, and are released when a process dies. */
  #held: { database: Database; identity: string | undefined } | undefined;
  #wasHeld = false;

  /** `what`: the locked part's name in messages. */
  constructor(path: string, what: string) {
    this.#path = path;
    this.#what = what;
  }

  /** Acquires the lock unless another process holds it; returns whether this process holds it. */
  take(): boolean {
    const held = this.#held;
    if (held !== undefined && stampOf(this.#path)?.identity === held.identity) return true;
    // Another process may have the file that is there now.
    this[Symbol.dispose]();
    let database: Database | undefined;
    try {
      // A data dir that was moved away is not made again: it could not be moved back.
      if (!this.#wasHeld) mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      database = new Database(this.#path, { create: true });
      database.run("begin exclusive");
      this.#held = { database, identity: stampOf(this.#path)?.identity };
      this.#wasHeld = true;
      return true;
    } catch (cause) {
      database?.close();
      if (hasCode(cause, "SQLITE_BUSY")) return false;
      const why = hasCode(cause, "SQLITE_NOTADB")
        ? `its lock file is damaged. Stop every node of the data dir, and delete ${this.#path}`
        : (remedyFor(cause) ??
          `${reasonOf(cause)}. Give this user the right to write to the data dir`);
      const message = `The ${this.#what} of the data dir cannot be changed: ${why}.`;
      throw new NodeError("unavailable", message, { cause });
    }
  }

  check(): void {
    if (this.take()) return;
    const why = `Another node has the ${this.#what} of this data dir. Stop it, or give this one a data dir of its own.`;
    throw new NodeError("unavailable", why);
  }

  [Symbol.dispose](): void {
    this.#held?.database.close();
    this.#held = undefined;
  }
}
