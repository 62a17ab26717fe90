/** Collections as files in one folder: `<name>.sqlite`, and files of an index that can be rebuilt. */
import { join } from "node:path";
import { NodeError } from "../../core/errors.ts";
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
import type { SegmentSizes } from "./indexing.ts";
import { SqliteRepository } from "./sqlite-repository.ts";

export class SqliteCollectionStore implements CollectionStore {
  readonly #folder: string;
  readonly #log: Log;
  readonly #segmentSizes: SegmentSizes | undefined;

  /** `segmentSizes`: of the index; the default is right for any size. */
  constructor(folder: string, log: Log, segmentSizes?: SegmentSizes) {
    this.#folder = folder;
    this.#log = log;
    this.#segmentSizes = segmentSizes;
  }

  async list(): Promise<string[]> {
    await using files = this.#files();
    return await files.list();
  }

  async open(name: string): Promise<PassageRepository | undefined> {
    return await this.#open(name);
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

  #files(): Remote<CollectionFolder> {
    return inThread({ target: "collections", args: [this.#folder], called: "Collections" });
  }

  async #open(name: string, spec?: CollectionSpec): Promise<SqliteRepository | undefined> {
    checkName(name);
    const folder = this.#folder;
    const path = join(folder, `${name}${extension}`);
    const thread = (): Remote<CollectionRows> =>
      inThread({
        target: "collection",
        args: [{ name, path, folder, ...given({ segmentSizes: this.#segmentSizes }) }],
        called: `The collection '${name}'`,
        file: { path },
      });
    const questions = thread();
    await using started = new AsyncDisposableStack();
    started.use(questions);
    const opened = await questions.open(spec);
    if (opened === undefined) return undefined;
    if (opened.isRebuilt) {
      const what = "a collection that an older version filled has its words rebuilt, once";
      this.#log.info(what, { collection: name });
    }
    started.move();
    return new SqliteRepository(name, opened, { questions, changes: thread() }, this.#log);
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
