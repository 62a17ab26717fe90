/** The folder of collections, for a thread: which there are, and how they are dropped. Every method blocks. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rowsOf } from "../database.ts";
import {
  empty,
  extension,
  forget,
  isBlank,
  openDatabase,
  removalSlice,
  removeRows,
} from "./collection-file.ts";
import { removeIndexFiles } from "./index-file.ts";

export class CollectionFolder implements Disposable {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Those that hold no collection: they were dropped, or the process that created them was killed. */
  blankOf(names: readonly string[]): string[] {
    return names.filter((name) => isBlank(this.#path(name)));
  }

  /** Emptied, not removed: a node that has it open sees that, and would go on reading a removed file. */
  drop(name: string, forGood: boolean): void {
    const path = this.#path(name);
    if (!existsSync(path)) return;
    if (!isBlank(path)) {
      const { database } = openDatabase(name, path);
      using _ = database;
      // A file that is removed as well need not be emptied row by row.
      if (forGood) forget(database);
      else {
        const sql = `select key from passages limit ${removalSlice}`;
        const next = (): number[] => rowsOf<{ key: number }>(database, sql).map(({ key }) => key);
        for (let keys = next(); keys.length > 0; keys = next()) removeRows(database, name, keys);
        empty(database);
      }
    }
    removeIndexFiles(this.#folder, name);
    if (!forGood) return;
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  }

  [Symbol.dispose](): void {}

  #path(name: string): string {
    return join(this.#folder, `${name}${extension}`);
  }
}
