/** Which vector store is meant, and whether it is for the caller; collections of the command line are found too. */
import { NodeError, reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { CollectionStore } from "../ports/passage-repository.ts";
import { quoted } from "../quoted.ts";
import { type DocumentCaller, mayUse, noSuch, theNode } from "./document-caller.ts";
import type { StoreRecord } from "./records.ts";

export interface StoreAccessParts {
  registry: DocumentRegistry;
  store: CollectionStore;
  /** The name of the node's own collection. */
  ownCollection: string;
  now: () => Date;
  /** The time by which stores expire. */
  expiryTime: () => Date;
  log: Log;
}

/** A store's last use is written at most so often. */
const touchMs = 60_000;
const dayMs = 86_400_000;

export class StoreAccess {
  readonly #parts: StoreAccessParts;

  constructor(parts: StoreAccessParts) {
    this.#parts = parts;
  }

  /** The vector store with this id. */
  async get(caller: DocumentCaller, id: string, param = "vector_store_id"): Promise<StoreRecord> {
    const store = this.#byId(id) ?? (await this.#adopted(() => this.#byId(id)));
    if (store !== undefined && mayUse(caller, store.id)) return store;
    throw noSuch("vector store", id, param);
  }

  /** The same, which is not expired, and is about to be changed. */
  async use(caller: DocumentCaller, id: string, param?: string): Promise<StoreRecord> {
    const store = this.#touched(await this.get(caller, id, param));
    this.#keepOwn();
    return store;
  }

  /** The one with this id, or whose collection is called so, or that alone has this name. */
  async find(caller: DocumentCaller, reference: string, param: string): Promise<StoreRecord> {
    const search = (): StoreRecord | undefined => this.#named(caller, reference, param);
    const store = search() ?? (await this.#adopted(search));
    if (store === undefined) throw noSuch("vector store", reference, param);
    return this.#touched(store);
  }

  /** What a caller searches who names no vector store. */
  async usual(caller: DocumentCaller = theNode): Promise<StoreRecord[]> {
    if (caller.vectorStores === undefined) return [this.#touched(this.own())];
    const stores = caller.vectorStores.map((id) => this.#byId(id));
    const there = stores.filter((store) => store !== undefined);
    return there.filter((store) => !this.isExpired(store)).map((store) => this.#touched(store));
  }

  /** The node's own collection; asking for it writes nothing, since the disk may be one that can only be read. */
  own(): StoreRecord {
    const { registry, ownCollection } = this.#parts;
    return registry.stores.storeOf(ownCollection) ?? this.#adopting(ownCollection);
  }

  isOwn({ collection }: StoreRecord): boolean {
    return collection === this.#parts.ownCollection;
  }

  isExpired(store: StoreRecord): boolean {
    const expiresAt = expiryOf(store);
    if (store.state === "expired") return true;
    return expiresAt !== undefined && expiresAt <= this.#parts.expiryTime();
  }

  /** Makes vector stores of the collections that came into being by themselves, and forgets those that went. */
  async adoptCollections(): Promise<void> {
    const { registry, store, log } = this.#parts;
    this.#keepOwn();
    const names = await store.list().catch((error: unknown) => {
      // What is known is shown while a server is away.
      if (!(error instanceof NodeError)) throw error;
      log.warn("the collections cannot be listed", { reason: error.message });
      return undefined;
    });
    if (names === undefined) return;
    const known = new Map(registry.stores.allStores().map((each) => [each.collection, each]));
    for (const name of names) {
      const isGoing = registry.queue.isRemoved({ collection: name, document: undefined });
      if (!known.has(name) && !isGoing) registry.stores.addStore(this.#adopting(name));
    }
    const there = new Set(names);
    for (const each of known.values()) {
      if (each.isOwn || this.isOwn(each) || there.has(each.collection)) continue;
      registry.stores.removeStore(each.id, { collection: false });
    }
  }

  #byId(id: string): StoreRecord | undefined {
    const own = this.own();
    return id === own.id ? own : this.#parts.registry.stores.store(id);
  }

  #named(caller: DocumentCaller, reference: string, param: string): StoreRecord | undefined {
    const { stores } = this.#parts.registry;
    const exact = this.#byId(reference) ?? stores.storeOf(reference);
    if (exact !== undefined) return mayUse(caller, exact.id) ? exact : undefined;
    const named = stores
      .allStores()
      .filter(({ id, name }) => name === reference && mayUse(caller, id));
    if (named.length <= 1) return named[0];
    throw new NodeError(
      "invalid_request",
      `'${param}' is ${quoted(reference)}, which is the name of ${named.length} vector stores; send the id of one: ${named
        .slice(0, 5)
        .map(({ id }) => id)
        .join(", ")}.`,
      { param },
    );
  }

  async #adopted(search: () => StoreRecord | undefined): Promise<StoreRecord | undefined> {
    await this.adoptCollections();
    return search();
  }

  #keepOwn(): void {
    const { registry, ownCollection } = this.#parts;
    const isKept = registry.stores.storeOf(ownCollection) !== undefined;
    if (!isKept) registry.stores.addStore(this.#adopting(ownCollection));
  }

  #adopting(collection: string): StoreRecord {
    const { registry, now } = this.#parts;
    const usual = collection.startsWith("vs_") ? collection : `vs_${collection}`;
    const isTaken = registry.stores.store(usual) !== undefined;
    const at = now();
    return {
      id: isTaken ? `${usual}_${Bun.hash(collection).toString(36)}` : usual,
      collection,
      name: collection,
      metadata: {},
      createdAt: at,
      lastActiveAt: at,
      state: "ready",
      isOwn: false,
    };
  }

  #touched(store: StoreRecord): StoreRecord {
    if (this.isExpired(store)) {
      throw new NodeError(
        "invalid_request",
        `The vector store '${store.id}' has expired, and its files are not in it any more. Make another.`,
      );
    }
    const { registry, now, log } = this.#parts;
    const lastActiveAt = now();
    if (lastActiveAt.getTime() - store.lastActiveAt.getTime() < touchMs) return store;
    try {
      registry.stores.changeStore(store.id, { lastActiveAt });
    } catch (error) {
      // What is only read is read also where nothing can be written.
      log.debug("a vector store's last use was not written", { reason: reasonOf(error) });
    }
    return { ...store, lastActiveAt };
  }
}

/** When a store expires that nobody uses any more. */
export const expiryOf = ({ lastActiveAt, expiresAfterDays }: StoreRecord): Date | undefined =>
  expiresAfterDays === undefined
    ? undefined
    : new Date(lastActiveAt.getTime() + expiresAfterDays * dayMs);
