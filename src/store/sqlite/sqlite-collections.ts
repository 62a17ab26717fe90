/** Collections as files in one folder: `<name>.sqlite`, and files of an index that can be rebuilt. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { asNodeError, hasCode, NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { Log } from "../../core/log.ts";
import type {
  CollectionSpec,
  CollectionStore,
  PassageRepository,
} from "../../core/ports/passage-repository.ts";
import { collectionNameRule, isCollectionName } from "../../core/retrieval/collection.ts";
import { openReadOnly, rowsOf } from "../database.ts";
import { inThread, type Remote } from "../thread-calls.ts";
import { countPassages, descriptionOf, dimensionIn, extension } from "./collection-file.ts";
import type { CollectionFolder } from "./collection-folder.ts";
import type { CollectionRows } from "./collection-rows.ts";
import type { Finds } from "./collection-search.ts";
import type { SegmentSizes } from "./indexing.ts";
import { SqliteRepository } from "./sqlite-repository.ts";
import type { Held } from "./watched-collection.ts";

type Seen = Map<string, { state: string; isBlank: boolean }>;

export class SqliteCollectionStore implements CollectionStore {
  readonly #folder: string;
  readonly #log: Log;
  readonly #segmentSizes: SegmentSizes | undefined;
  /** The files as `list` last saw them: opening a thousand takes a second. */
  #seen: Seen = new Map();
  #looking: Promise<unknown> = Promise.resolve();
  /** The next look at the folder, for all that ask until it begins: each may need a thread. */
  #nextLook: Promise<string[]> | undefined;

  /** `segmentSizes`: of the index; the default is right for any size. */
  constructor(folder: string, log: Log, segmentSizes?: SegmentSizes) {
    this.#folder = folder;
    this.#log = log;
    this.#segmentSizes = segmentSizes;
  }

  async list(): Promise<string[]> {
    this.#nextLook ??= this.#lookNext();
    return await this.#nextLook;
  }

  async #lookNext(): Promise<string[]> {
    await this.#looking.catch(() => {});
    this.#nextLook = undefined;
    const found = this.#look().catch((cause: unknown) => {
      throw asNodeError(cause, "The collections cannot be listed");
    });
    this.#looking = found;
    return await found;
  }

  async #look(): Promise<string[]> {
    const files = (await unlessMissing(readdir(this.#folder))) ?? [];
    const names = files
      .filter((file) => file.endsWith(extension))
      .map((file) => file.slice(0, -extension.length))
      .filter(isCollectionName);
    const states = new Map(
      await Promise.all(
        names.map(async (name) => [name, await stateOf(this.#path(name))] as const),
      ),
    );
    const changed = names.filter((name) => this.#seen.get(name)?.state !== states.get(name));
    const blank = new Set(changed.length === 0 ? [] : await this.#blankOf(changed));
    const seen: Seen = new Map();
    for (const [name, state] of states) {
      const before = this.#seen.get(name);
      if (state === undefined) continue;
      seen.set(name, before?.state === state ? before : { state, isBlank: blank.has(name) });
    }
    this.#seen = seen;
    return names.filter((name) => seen.get(name)?.isBlank === false).sort();
  }

  /** A dropped collection leaves its tables; of a file without any, its content is lost. */
  async isMissing(name: string): Promise<boolean> {
    const file = await statOf(this.#path(name)).catch((cause: unknown) => {
      throw asNodeError(cause, `The collection '${name}' cannot be looked for`);
    });
    return (file?.size ?? 0n) === 0n;
  }

  async open(name: string): Promise<PassageRepository | undefined> {
    checkName(name);
    // A thread is not started for nothing: a search may be of a thousand vector stores that are still empty.
    return (await this.isMissing(name)) ? undefined : await this.#open(name);
  }

  async create(name: string, spec: CollectionSpec): Promise<PassageRepository> {
    const created = await this.#open(name, spec);
    if (created !== undefined) return created;
    throw new NodeError("unavailable", `The collection '${name}' cannot be created.`);
  }

  async drop(name: string, { forGood } = { forGood: false }): Promise<void> {
    checkName(name);
    await using files = this.#files();
    await files.drop(name, forGood);
  }

  async #blankOf(names: readonly string[]): Promise<string[]> {
    await using files = this.#files();
    return await files.blankOf(names);
  }

  #path(name: string): string {
    return join(this.#folder, `${name}${extension}`);
  }

  #files(): Remote<CollectionFolder> {
    return inThread({ target: "collections", args: [this.#folder], called: "Collections" });
  }

  async #open(name: string, spec?: CollectionSpec): Promise<SqliteRepository | undefined> {
    checkName(name);
    const folder = this.#folder;
    const path = this.#path(name);
    const thread = (finds?: Finds, held?: Held): Remote<CollectionRows> =>
      inThread({
        target: "collection",
        args: [{ name, path, folder, ...given({ finds, held, segmentSizes: this.#segmentSizes }) }],
        called: `The collection '${name}'`,
        file: { path },
      });
    const questions = thread("vectors");
    await using started = new AsyncDisposableStack();
    started.use(questions);
    const opened = await questions.open(spec);
    if (opened === undefined) return undefined;
    if (opened.isRebuilt) {
      const what = "a collection that an older version filled has its words rebuilt, once";
      this.#log.info(what, { collection: name });
    }
    started.move();
    const { dimension, identity } = opened;
    // They open the file when they are first used: by then it may be of another model.
    const held = { dimension, identity };
    const threads = { questions, words: thread("words", held), changes: thread(undefined, held) };
    return new SqliteRepository(name, opened, threads, this.#log);
  }
}

/** Differs if the file or its log was changed in any way; undefined if there is none. */
async function stateOf(path: string): Promise<string | undefined> {
  const [file, log] = await Promise.all([path, `${path}-wal`].map(statOf));
  if (file === undefined) return undefined;
  // Not the log's ctime: as root, SQLite sets its owner whenever it is opened.
  const ofLog = [log?.ino, log?.size, log?.mtimeNs];
  return [file.dev, file.ino, file.size, file.mtimeNs, file.ctimeNs, ...ofLog].join(":");
}

/** Not on the loop, as a disk may hang. */
const statOf = (path: string) => unlessMissing(stat(path, { bigint: true }));

async function unlessMissing<Found>(looking: Promise<Found>): Promise<Found | undefined> {
  try {
    return await looking;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

function checkName(name: string): void {
  if (isCollectionName(name)) return;
  const why = `'${name}' cannot be the name of a collection: it must be ${collectionNameRule}.`;
  throw new NodeError("invalid_request", why);
}

/** For dry runs: new collections are in memory, and nothing is dropped. */
export const dryRunStore = (store: CollectionStore): CollectionStore => ({
  list: () => store.list(),
  isMissing: (name) => store.isMissing(name),
  open: (name) => store.open(name),
  create: async (name, spec) => (await import("./memory-collection.ts")).inMemory(name, spec),
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
