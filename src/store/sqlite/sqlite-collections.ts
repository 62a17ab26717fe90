/** Collections as files in one folder: `<name>.sqlite`, and an index file that can be rebuilt. */
import { Database } from "bun:sqlite";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { type Log, noLog } from "../../core/log.ts";
import type {
  CollectionSpec,
  CollectionStore,
  PassageRepository,
} from "../../core/ports/passage-repository.ts";
import { collectionNameRule, isCollectionName } from "../../core/retrieval/collection.ts";
import { openOwn, openReadOnly, remedyFor, rowsOf, stampOf } from "../database.ts";
import {
  busyTimeout,
  countPassages,
  describeOnce,
  descriptionOf,
  dimensionIn,
  empty,
  forget,
  prepareTables,
  removeInSlices,
  turn,
  writing,
} from "./collection-file.ts";
import { SqliteRepository } from "./sqlite-repository.ts";
import { removeIndexFiles } from "./vector-index.ts";

const extension = ".sqlite";

type Seen = Map<string, { state: string; isBlank: boolean }>;

export class SqliteCollectionStore implements CollectionStore {
  readonly #folder: string;
  readonly #log: Log;
  /** The files as `list` last saw them: opening a thousand takes a second. */
  #seen: Seen = new Map();

  constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  async list(): Promise<string[]> {
    if (!existsSync(this.#folder)) return [];
    const names = readdirSync(this.#folder)
      .filter((file) => file.endsWith(extension))
      .map((file) => file.slice(0, -extension.length))
      .filter(isCollectionName);
    const seen: Seen = new Map();
    for (const name of names) {
      const path = this.#path(name);
      const state = stateOf(path);
      const before = this.#seen.get(name);
      if (state === undefined) continue;
      if (before?.state === state) seen.set(name, before);
      else {
        seen.set(name, { state, isBlank: isBlank(path) });
        await turn();
      }
    }
    this.#seen = seen;
    return names.filter((name) => seen.get(name)?.isBlank === false).sort();
  }

  async open(name: string): Promise<PassageRepository | undefined> {
    const path = this.#path(name);
    return existsSync(path) && !isBlank(path) ? this.#open(name) : undefined;
  }

  async create(name: string, spec: CollectionSpec): Promise<PassageRepository> {
    return this.#open(name, spec);
  }

  /** Emptied, not removed: a node that has it open sees that, and would go on reading a removed file. */
  async drop(name: string, { forGood } = { forGood: false }): Promise<void> {
    const path = this.#path(name);
    if (!existsSync(path)) return;
    if (!isBlank(path)) {
      using database = openDatabase(name, path);
      // A file that is removed as well need not be emptied row by row.
      if (forGood) await writing(name, () => forget(database));
      else {
        const keys = rowsOf<{ key: number }>(database, "select key from passages");
        await removeInSlices(database, name, keys);
        await writing(name, () => empty(database));
      }
    }
    await removeIndexFiles(this.#folder, name);
    if (!forGood) return;
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  }

  #path(name: string): string {
    if (isCollectionName(name)) return join(this.#folder, `${name}${extension}`);
    const why = `'${name}' cannot be the name of a collection: it must be ${collectionNameRule}.`;
    throw new NodeError("invalid_request", why);
  }

  #open(name: string, spec?: CollectionSpec): PassageRepository {
    const what = "a collection that an older version filled has its words rebuilt, once";
    const onRebuild = (): void => this.#log.info(what, { collection: name });
    const database = openDatabase(name, this.#path(name), spec, onRebuild);
    return new SqliteRepository(name, database, this.#log, this.#folder);
  }
}

/** Differs if the file or its log was changed in any way; undefined if there is none. */
function stateOf(path: string): string | undefined {
  const file = stampOf(path);
  return file && `${file.state} ${stampOf(`${path}-wal`)?.state}`;
}

/** Whether a file holds no collection: it was dropped, or the process that created it was killed. */
function isBlank(path: string): boolean {
  if (statSync(path).size === 0) return true;
  try {
    using database = new Database(path, { readwrite: true, create: false });
    database.run(busyTimeout);
    return dimensionIn(database) === undefined;
  } catch {
    // Not a database: opening it fails with an error that says so.
    return false;
  }
}

/** Creates the file if it does not exist; an existing file keeps its spec. */
export function openDatabase(
  name: string,
  path: string,
  spec?: CollectionSpec,
  onRebuild?: () => void,
): Database {
  const prepare = (database: Database): void => {
    prepareTables(database, onRebuild);
    if (spec !== undefined) describeOnce(database, spec);
  };
  try {
    const { database } = openOwn(path, prepare);
    database.run(busyTimeout);
    if (dimensionIn(database) !== undefined) return database;
    database.close();
    throw new Error("it does not say what vectors it holds");
  } catch (cause) {
    const why = `The collection '${name}' cannot be opened: ${remedyFor(cause) ?? `${reasonOf(cause)}; restore it from a backup, or move it away to start with an empty one`}. Its file is ${path}.`;
    throw new NodeError("unavailable", why, { cause });
  }
}

/** For dry runs: new collections are in memory, and nothing is dropped. */
export const dryRunStore = (store: CollectionStore): CollectionStore => ({
  list: () => store.list(),
  open: (name) => store.open(name),
  create: async (name, spec) =>
    new SqliteRepository(name, openDatabase(name, ":memory:", spec), noLog),
  drop: async () => {},
});

/** Inspects a collection's file and checks its integrity, without changing it; undefined if it holds no collection. */
export function inspectCollection(name: string, path: string) {
  using database = openReadOnly(path);
  const faults = rowsOf<{ quick_check: string }>(database, "pragma quick_check(3)")
    .map(({ quick_check: said }) => said)
    .filter((said) => said !== "ok");
  const dimension = dimensionIn(database);
  if (dimension === undefined) return undefined;
  const description = descriptionOf(database, name, dimension);
  return { description, passages: countPassages(database), faults };
}
