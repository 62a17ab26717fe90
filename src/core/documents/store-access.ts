/** Finds vector stores by id or name and checks that the caller may use them, collections of the command line included. */
import { NodeError, reasonOf } from "../errors.ts";
import { quoted } from "../quoted.ts";
import { type DocumentCaller, mayFill, mayUse, noSuch } from "./document-caller.ts";
import type { DocumentParts } from "./documents.ts";
import { droppedCollections, type StoreOutline, type StoreRecord } from "./records.ts";

type StoreAccessParts = Pick<
  DocumentParts,
  "registry" | "store" | "ownCollection" | "now" | "expiryTime" | "log"
>;

/** A store's last use is saved at most this often. */
const touchMs = 60_000;
const dayMs = 86_400_000;

/** As new stores have them. */
const isId = (reference: string): boolean => /^vs_[0-9a-f]{24}$/.test(reference);

export class StoreAccess {
  readonly #parts: StoreAccessParts;

  constructor(parts: StoreAccessParts) {
    this.#parts = parts;
  }

  async get(caller: DocumentCaller, id: string, param = "vector_store_id"): Promise<StoreRecord> {
    // A store that the caller may not use is not looked up: the response time would reveal whether it exists.
    const search = async () => (mayUse(caller, id) ? await this.#byId(id) : undefined);
    const store = await this.#known(caller, search);
    if (store === undefined) throw noSuch("vector store", id, param);
    return store;
  }

  async use(caller: DocumentCaller, id: string, param?: string): Promise<StoreRecord> {
    const found = await this.get(caller, id, param);
    if (!mayFill(caller, found.id)) {
      throw new NodeError("forbidden", `${caller.called} may only read the vector store '${id}'.`);
    }
    const store = await this.#touched(found);
    await this.#addOwn();
    return store;
  }

  /** Finds a store by its id, its collection's name, or its own name if that is unique. Anyone may call a store anything, so a name leads to no other's id or collection. */
  async find(caller: DocumentCaller, reference: string, param: string): Promise<StoreOutline> {
    const { vectorStores } = caller;
    if (vectorStores?.includes(reference))
      return await this.#touched(await this.get(caller, reference, param));
    const bound = vectorStores && (await this.#boundTo(vectorStores));
    const exact = await this.#known(caller, () => this.#exact(bound, reference));
    const store = exact ?? (await this.#named(bound, reference, param));
    if (store === undefined) throw noSuch("vector store", reference, param);
    return await this.#touched(store);
  }

  async usual(caller: DocumentCaller): Promise<StoreOutline[]> {
    if (caller.vectorStores === undefined) return [await this.#touched(await this.own())];
    const there = (await this.#boundTo(caller.vectorStores)).filter(
      (store) => !this.isExpired(store),
    );
    return await this.#touch(there);
  }

  /** The node's own collection. Writes nothing, since the disk may be read-only. */
  async own(): Promise<StoreRecord> {
    const { registry, ownCollection } = this.#parts;
    const known = await registry.storeOf(ownCollection);
    return known ?? (await this.#adopting(ownCollection));
  }

  isOwn({ collection }: StoreOutline): boolean {
    return collection === this.#parts.ownCollection;
  }

  isExpired(store: StoreOutline): boolean {
    const expiresAt = expiryOf(store);
    if (store.state === "expired") return true;
    return expiresAt !== undefined && expiresAt <= this.#parts.expiryTime();
  }

  /** Adds a vector store for each collection that was not created over HTTP, and removes those whose collection was dropped. */
  async adoptCollections(): Promise<void> {
    const { registry, store, log } = this.#parts;
    await this.#addOwn();
    const names = await store.list().catch((error: unknown) => {
      // While a server is unavailable, the known stores are shown.
      if (!(error instanceof NodeError)) throw error;
      log.warn("the collections cannot be listed", { reason: error.message });
      return undefined;
    });
    if (names === undefined) return;
    const known = new Map((await registry.outlines()).map((each) => [each.collection, each]));
    for (const name of names) {
      if (known.has(name)) continue;
      const isGoing = await registry.isRemoved({ collection: name, document: undefined });
      const isGone = await registry.isRemoved({ collection: droppedCollections, document: name });
      if (!isGoing && !isGone) await registry.addStore(await this.#adopting(name));
    }
    const there = new Set(names);
    for (const each of known.values()) {
      if (each.isOwn || this.isOwn(each) || there.has(each.collection)) continue;
      if (await store.isMissing(each.collection)) continue;
      // Files that were added to it over HTTP are ingested again once it is filled again.
      await registry.removeStore(each.id, { collection: false, ifNoneUploaded: true });
    }
  }

  async #byId(id: string): Promise<StoreRecord | undefined> {
    const own = await this.own();
    return id === own.id ? own : await this.#parts.registry.store(id);
  }

  /** In one question, which others wait for: they may be a thousand. */
  async #boundTo(ids: readonly string[]): Promise<StoreOutline[]> {
    const own = await this.own();
    const others = await this.#parts.registry.outlines(ids.filter((id) => id !== own.id));
    return ids.includes(own.id) ? [own, ...others] : others;
  }

  /** `bound`: the stores that the caller is bound to, if it is. */
  async #exact(
    bound: readonly StoreOutline[] | undefined,
    reference: string,
  ): Promise<StoreOutline | undefined> {
    if (bound === undefined) {
      return (await this.#byId(reference)) ?? (await this.#parts.registry.storeOf(reference));
    }
    return bound.find(({ id, collection }) => id === reference || collection === reference);
  }

  async #named(
    bound: readonly StoreOutline[] | undefined,
    reference: string,
    param: string,
  ): Promise<StoreOutline | undefined> {
    // A deleted store's, for example.
    if (isId(reference)) return undefined;
    const stores = bound ?? (await this.#parts.registry.outlines());
    const named = stores.filter(({ name }) => name === reference);
    if (named.length <= 1) return named[0];
    const ids = named.slice(0, 5).map(({ id }) => id);
    const why = `'${param}' is ${quoted(reference)}, which is the name of ${named.length} vector stores; send the id of one: ${ids.join(", ")}.`;
    throw new NodeError("invalid_request", why, { param });
  }

  /** Searches again after adopting collections of the command line; a bound key only sees known ones. */
  async #known<Store>(
    { vectorStores }: DocumentCaller,
    search: () => Promise<Store | undefined>,
  ): Promise<Store | undefined> {
    const known = await search();
    if (known !== undefined || vectorStores !== undefined) return known;
    await this.adoptCollections();
    return await search();
  }

  async #addOwn(): Promise<void> {
    const { registry, ownCollection } = this.#parts;
    const isKnown = (await registry.storeOf(ownCollection)) !== undefined;
    if (!isKnown) await registry.addStore(await this.#adopting(ownCollection));
  }

  async #adopting(collection: string): Promise<StoreRecord> {
    const { registry, now } = this.#parts;
    const usual = collection.startsWith("vs_") ? collection : `vs_${collection}`;
    const isTaken = (await registry.store(usual)) !== undefined;
    const at = now();
    return {
      id: isTaken ? `${usual}_${Bun.hash(collection).toString(36)}` : usual,
      ...{ collection, name: collection, metadata: {}, state: "ready", isOwn: false },
      ...{ createdAt: at, lastActiveAt: at },
    };
  }

  async #touched<Store extends StoreOutline>(store: Store): Promise<Store> {
    if (this.isExpired(store)) {
      const why = `The vector store '${store.id}' has expired, and its files are not in it any more. Make another.`;
      throw new NodeError("invalid_request", why);
    }
    const [touched = store] = await this.#touch([store]);
    return touched;
  }

  async #touch<Store extends StoreOutline>(stores: readonly Store[]): Promise<Store[]> {
    const { registry, now, log } = this.#parts;
    const at = now();
    const before = new Date(at.getTime() - touchMs);
    const isDue = ({ lastActiveAt }: StoreOutline) => lastActiveAt < before;
    const due = stores.filter(isDue).map(({ id }) => id);
    if (due.length === 0) return [...stores];
    // Reading works even if nothing can be written.
    await registry.touchStores(due, at, before).catch((error: unknown) => {
      log.debug("the last use of vector stores was not written", { reason: reasonOf(error) });
    });
    return stores.map((store) => (isDue(store) ? { ...store, lastActiveAt: at } : store));
  }
}

export const expiryOf = ({ lastActiveAt, expiresAfterDays }: StoreOutline): Date | undefined =>
  expiresAfterDays === undefined
    ? undefined
    : new Date(lastActiveAt.getTime() + expiresAfterDays * dayMs);
