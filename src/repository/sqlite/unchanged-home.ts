/** A home of which nothing is changed: a collection that is not there is an empty one in memory. */
import type {
  CollectionHome,
  CollectionSpec,
  PassageRepository,
} from "../../core/ports/passage-repository.ts";
import { openDatabase } from "./sqlite-home.ts";
import { SqliteRepository } from "./sqlite-repository.ts";

export class UnchangedHome implements CollectionHome {
  readonly #home: CollectionHome;

  constructor(home: CollectionHome) {
    this.#home = home;
  }

  list(): Promise<string[]> {
    return this.#home.list();
  }

  open(name: string): Promise<PassageRepository | undefined> {
    return this.#home.open(name);
  }

  async create(name: string, spec: CollectionSpec): Promise<PassageRepository> {
    const database = openDatabase(name, ":memory:", spec);
    const silent = { debug() {}, info() {}, warn() {}, error() {} };
    return new SqliteRepository({ database, collection: name, log: silent });
  }

  async drop(): Promise<void> {}
}
