/** A collection store for dry runs: a new collection is made in memory, and nothing is dropped. */
import type {
  CollectionSpec,
  CollectionStore,
  PassageRepository,
} from "../../core/ports/passage-repository.ts";
import { openDatabase } from "./sqlite-collection-store.ts";
import { SqliteRepository } from "./sqlite-repository.ts";

export class DryRunCollectionStore implements CollectionStore {
  readonly #store: CollectionStore;

  constructor(store: CollectionStore) {
    this.#store = store;
  }

  list(): Promise<string[]> {
    return this.#store.list();
  }

  open(name: string): Promise<PassageRepository | undefined> {
    return this.#store.open(name);
  }

  async create(name: string, spec: CollectionSpec): Promise<PassageRepository> {
    const database = openDatabase(name, ":memory:", spec);
    const silent = { debug() {}, info() {}, warn() {}, error() {} };
    return new SqliteRepository({ database, collection: name, log: silent });
  }

  async drop(): Promise<void> {}
}
