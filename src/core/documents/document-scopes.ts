/** What a question is searched in: the caller's vector stores, open, with which of their documents count. */
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { RetrievalBackend } from "../retrieval/retrieval-service.ts";
import type {
  SearchScope,
  SearchScopes,
  SearchTarget,
  SearchTargets,
} from "../retrieval/search-scope.ts";
import type { Catalogue } from "./catalogue.ts";
import type { OpenCollections } from "./open-collections.ts";
import type { StoreRecord } from "./records.ts";
import type { StoreAccess } from "./store-access.ts";

export interface ScopeParts {
  registry: DocumentRegistry;
  access: StoreAccess;
  collections: OpenCollections;
  catalogue: Catalogue;
}

export class DocumentScopes implements SearchScopes {
  readonly #parts: ScopeParts;

  constructor(parts: ScopeParts) {
    this.#parts = parts;
  }

  async check(scope: SearchScope): Promise<void> {
    await this.#stores(scope);
  }

  async open(scope: SearchScope, ready: () => RetrievalBackend): Promise<SearchTargets> {
    using leases = new DisposableStack();
    const all: SearchTarget[] = [];
    for (const store of await this.#stores(scope)) {
      const target = await this.#target(store, scope, ready, leases);
      if (target !== undefined) all.push(target);
    }
    const held = leases.move();
    return { all, [Symbol.dispose]: () => held.dispose() };
  }

  async #stores({
    caller,
    stores,
    fieldOf = () => "vector_store_id",
  }: SearchScope): Promise<StoreRecord[]> {
    const { access } = this.#parts;
    if (stores === undefined) return await access.usual(caller);
    const found = new Map<string, StoreRecord>();
    for (const [index, reference] of stores.entries()) {
      const store = await access.find(caller, reference, fieldOf(index));
      found.set(store.id, store);
    }
    return [...found.values()];
  }

  /** Undefined for a store that holds nothing yet. */
  async #target(
    store: StoreRecord,
    { filter }: SearchScope,
    ready: () => RetrievalBackend,
    leases: DisposableStack,
  ): Promise<SearchTarget | undefined> {
    const { registry, access, collections, catalogue } = this.#parts;
    const { id, collection } = store;
    const isOwn = access.isOwn(store);
    // The node's own collection says by itself why it is not there.
    const backend = isOwn ? ready() : undefined;
    const lease = isOwn ? undefined : await collections.lease(collection);
    if (lease !== undefined) leases.use(lease);
    const repository = backend?.repository ?? lease?.repository;
    if (repository === undefined) return undefined;
    if (filter !== undefined) await catalogue.update(store, repository);
    const { documents, hidden } = await registry.storeFiles.selection(store, filter);
    return {
      store: id,
      collection,
      repository,
      queryPrefix: backend?.queryPrefix ?? lease?.prefixes.queryPrefix ?? "",
      documents,
      shows: (document) => !hidden.has(document),
    };
  }
}
