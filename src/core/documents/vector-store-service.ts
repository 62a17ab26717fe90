/** Vector stores: creates, lists, changes and deletes them. */
import { NodeError } from "../errors.ts";
import { given } from "../given.ts";
import type { Page, PageRequest } from "../page.ts";
import type { DocumentCaller } from "./document-caller.ts";
import type { SharedParts } from "./documents.ts";
import { type FileCounts, newId, type StoreOutline, type StoreRecord } from "./records.ts";
import { expiryOf } from "./store-access.ts";

export interface NewStore {
  name?: string;
  description?: string;
  metadata?: Readonly<Record<string, string>>;
  expiresAfterDays?: number;
}

type StoreChange = Omit<NewStore, "expiresAfterDays"> & { expiresAfterDays?: number | null };

export interface StoreView {
  store: StoreRecord;
  counts: FileCounts;
  usageBytes: number;
  expiresAt?: Date;
  isExpired: boolean;
}

/** Others find the store by its name, and lose it when it expires. */
function checkBound({ name, expiresAfterDays }: StoreChange, is: string): void {
  if (expiresAfterDays !== undefined) {
    const why = `${is}, and does not say when it expires.`;
    throw new NodeError("forbidden", why, { param: "expires_after" });
  }
  if (name !== undefined) {
    throw new NodeError("forbidden", `${is}, and does not rename it.`, { param: "name" });
  }
}

export class VectorStoreService {
  readonly #parts: SharedParts;

  constructor(parts: SharedParts) {
    this.#parts = parts;
  }

  async create(
    caller: DocumentCaller,
    { name, metadata = {}, ...rest }: NewStore,
  ): Promise<StoreRecord> {
    const { registry, now, ownership, limits } = this.#parts;
    ownership.check();
    if (caller.vectorStores !== undefined) {
      const why = `${caller.called} is bound to vector stores (${caller.vectorStores.join(", ")}), and makes no others.`;
      throw new NodeError("forbidden", why);
    }
    const id = newId("vs_");
    const at = now();
    const store: StoreRecord = {
      ...{ id, collection: id, name: name ?? "", metadata },
      ...{ createdAt: at, lastActiveAt: at, state: "ready", isOwn: true },
      ...given({ ...rest, owner: caller.id }),
    };
    const { maxStores: most } = limits;
    // One caller must not keep all others from making any.
    if (await registry.addStore(store, { most, mostOwn: Math.ceil(most / 2) })) return store;
    const share = caller.id === undefined ? "" : ", half of these of one key";
    const why = `This node holds ${most} vector stores (documents.max_vector_stores)${share}, and has them. Delete one first.`;
    throw new NodeError("quota_exceeded", why);
  }

  async list(caller: DocumentCaller, page: PageRequest): Promise<Page<StoreView>> {
    const { registry, access } = this.#parts;
    await access.adoptCollections();
    const { items, hasMore } = await registry.stores(page, caller.vectorStores);
    return { items: await Array.fromAsync(items, (store) => this.view(store)), hasMore };
  }

  async get(caller: DocumentCaller, id: string): Promise<StoreView> {
    return await this.view(await this.#parts.access.get(caller, id));
  }

  async update(caller: DocumentCaller, id: string, change: StoreChange): Promise<StoreView> {
    const { registry, access, ownership } = this.#parts;
    ownership.check();
    const store = await access.use(caller, id);
    if (caller.vectorStores !== undefined)
      checkBound(change, `${caller.called} is bound to the vector store '${id}'`);
    if (typeof change.expiresAfterDays === "number" && !store.isOwn) {
      const why = `'expires_after' is for vector stores that were made over HTTP; '${id}' is a collection of the command line.`;
      throw new NodeError("invalid_request", why, { param: "expires_after" });
    }
    await registry.changeStore(id, change);
    return await this.get(caller, id);
  }

  /** Once it returns, nothing in it is found any more. */
  async delete(caller: DocumentCaller, id: string): Promise<void> {
    const { registry, access, collections, remover, queue, ownership } = this.#parts;
    ownership.check();
    const store = await access.get(caller, id);
    if (caller.vectorStores !== undefined) {
      const why = `${caller.called} is bound to the vector store '${id}', and does not delete it. Remove its files instead.`;
      throw new NodeError("forbidden", why);
    }
    if (access.isOwn(store)) {
      const why = `'${id}' is the node's own collection (vectorstore.collection_name), and stays. Remove its files instead.`;
      throw new NodeError("invalid_request", why, { param: "vector_store_id" });
    }
    using _ = await queue.hold(id);
    const { collection } = store;
    if (!store.isOwn) {
      // Another collection may be created with this name, so it is dropped now, not later.
      await collections.drop(collection, { forGood: false });
      await registry.removeStore(id, { collection: false });
      return;
    }
    const isNone = await this.#hasNone(store);
    await registry.removeStore(id, { collection: !isNone });
    await remover.tryRemove({ collection, document: undefined });
  }

  /** Whether there is nothing to drop: it was never filled. What is away with its disk is dropped later. */
  async #hasNone({ id, collection }: StoreOutline): Promise<boolean> {
    const { registry, store, ownCollection } = this.#parts;
    if ((await registry.counts({ store: id })).completed > 0) return false;
    if (!(await store.isMissing(collection).catch(() => false))) return false;
    // What was begun, or is to be deleted, is with the node's own collection, if that is away too.
    const hasLeft = (await registry.hidden(collection)).size > 0;
    return !(hasLeft && (await store.isMissing(ownCollection)));
  }

  /** Empties a store that has expired; its record stays until it is deleted. */
  async expire(store: StoreOutline): Promise<void> {
    const { registry, access, remover, queue } = this.#parts;
    using _ = await queue.hold(store.id);
    // It may have been used or changed since it was listed: many may be emptied before it.
    const known = await registry.store(store.id);
    if (known === undefined || !access.isExpired(known)) return;
    const removal = { collection: store.collection, document: undefined };
    const isNone = await this.#hasNone(store);
    await registry.expireStore(store.id);
    if (isNone) await registry.removed(removal);
    else await remover.tryRemove(removal);
  }

  async view(store: StoreRecord): Promise<StoreView> {
    const { registry, access, adoptFiles, log } = this.#parts;
    // If the collection is unavailable, or of another model, the known files are shown.
    await adoptFiles(store).catch((error: unknown) => {
      if (!(error instanceof NodeError)) throw error;
      log.debug("a vector store is shown as it was", { store: store.id, reason: error.message });
    });
    return {
      store,
      isExpired: access.isExpired(store),
      counts: await registry.counts({ store: store.id }),
      usageBytes: await registry.storeUsage(store.id),
      ...given({ expiresAt: expiryOf(store) }),
    };
  }
}
