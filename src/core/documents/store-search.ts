/** Searches vector stores: selects the stores and files of a search, and runs OpenAI's search of one store. */
import { checkInputs } from "../embedding/embedding-service.ts";
import { given } from "../given.ts";
import type { EmbedOptions } from "../ports/embedding-engine.ts";
import type { SearchBounds } from "../ports/passage-repository.ts";
import type { RetrievalBackend } from "../retrieval/retrieval-service.ts";
import type { FoundPassage, SearchScope, SearchTarget } from "../retrieval/search.ts";
import type { DocumentCaller } from "./document-caller.ts";
import type { SharedParts } from "./documents.ts";
import { mostOpen } from "./open-collections.ts";
import {
  type AttributeFilter,
  type Attributes,
  fileIdOf,
  type StoreOutline,
  shownName,
} from "./records.ts";

export interface StoreQuestion {
  /** A passage that matches any of them is found. */
  queries: readonly string[];
  fieldOf: (index: number) => string;
  bounds: SearchBounds;
  filter?: AttributeFilter;
  isReranked: boolean;
}

export interface FoundInFile extends FoundPassage {
  attributes: Attributes;
}

export class StoreSearchService {
  readonly #parts: SharedParts;
  /** Vector stores of which unknown documents were reported. */
  readonly #said = new Set<string>();

  constructor(parts: SharedParts) {
    this.#parts = parts;
  }

  async search(
    caller: DocumentCaller,
    storeId: string,
    { queries, fieldOf, bounds, filter, isReranked }: StoreQuestion,
    options: EmbedOptions,
  ): Promise<FoundInFile[]> {
    const { access, retrieval } = this.#parts;
    const store = await access.get(caller, storeId);
    const { signal } = options;
    const prefix = retrieval.queryPrefix;
    await checkInputs(retrieval.model().engine, [...queries], { fieldOf, signal, prefix });
    const best = new Map<string, FoundPassage>();
    for (const query of queries) {
      const scope = { caller, stores: [store.id], isReranked, ...given({ filter }) };
      const { points } = await retrieval.find(query, bounds, options, scope);
      for (const point of points) {
        if (point.score > (best.get(point.id)?.score ?? -2)) best.set(point.id, point);
      }
    }
    const found = [...best.values()].sort((a, b) => b.score - a.score).slice(0, bounds.limit);
    return await this.withAttributes(found);
  }

  async withAttributes(found: readonly FoundPassage[]): Promise<FoundInFile[]> {
    const files = found.map(({ store, file }) => ({ store, file }));
    const attributes = await this.#parts.registry.attributesOf(files);
    return found.map((point, at) => ({ ...point, attributes: attributes[at] ?? {} }));
  }

  async check(scope: SearchScope): Promise<void> {
    await this.#stores(scope);
  }

  /** Some stores at a time, open until the next ones are asked for: a key may be bound to a thousand. */
  async *open(scope: SearchScope, ready: () => RetrievalBackend): AsyncGenerator<SearchTarget[]> {
    const stores = await this.#stores(scope);
    for (let from = 0; from < stores.length; from += mostOpen) {
      using leases = new DisposableStack();
      const targets: SearchTarget[] = [];
      for (const store of stores.slice(from, from + mostOpen)) {
        const target = await this.#target(store, scope, ready, leases);
        if (target !== undefined) targets.push(target);
      }
      yield targets;
    }
  }

  async #stores({
    caller,
    stores,
    fieldOf = () => "vector_store_id",
  }: SearchScope): Promise<StoreOutline[]> {
    const { access } = this.#parts;
    if (stores === undefined) return await access.usual(caller);
    const found = new Map<string, StoreOutline>();
    for (const [index, reference] of stores.entries()) {
      const store = await access.find(caller, reference, fieldOf(index));
      found.set(store.id, store);
    }
    return [...found.values()];
  }

  /** Undefined for a store that is still empty. */
  async #target(
    store: StoreOutline,
    { caller, filter }: SearchScope,
    ready: () => RetrievalBackend,
    leases: DisposableStack,
  ): Promise<SearchTarget | undefined> {
    const { registry, access, collections, adoptFiles } = this.#parts;
    const { id, collection } = store;
    const isOwn = access.isOwn(store);
    // `ready` throws the reason if the node's own collection is not available.
    const backend = isOwn ? ready() : undefined;
    const lease = isOwn ? undefined : await collections.lease(collection);
    if (lease !== undefined) leases.use(lease);
    const repository = backend?.repository ?? lease?.repository;
    if (repository === undefined) return undefined;
    if (filter !== undefined) await adoptFiles(store, repository);
    const { documents, hidden } = await registry.selection(store, filter, caller.id);
    return {
      store: id,
      collection,
      repository,
      queryPrefix: backend?.queryPrefix ?? lease?.prefixes.queryPrefix ?? "",
      documents,
      shown: async (found) => {
        const known = store.isOwn && !isOwn ? await this.#known(store, found) : found;
        const uploads = store.isOwn ? [] : found.filter((each) => shownName(each) !== each);
        const removed =
          uploads.length === 0 ? hidden : await registry.removedFrom(collection, uploads);
        const isGone = (each: string) => hidden.has(each) || removed.has(each);
        return new Set(known.filter((each) => !isGone(each)));
      },
    };
  }

  /** A collection that is older than the registry has documents that were removed since: they are left alone, and in no answer. */
  async #known({ id, collection }: StoreOutline, documents: readonly string[]): Promise<string[]> {
    const { registry, log } = this.#parts;
    const files = documents.map((document) => fileIdOf(collection, document));
    const known = new Set((await registry.inStore(id, files)).map(({ document }) => document));
    const unknown = new Set(documents.filter((document) => !known.has(document)));
    if (unknown.size > 0 && !this.#said.has(id)) {
      this.#said.add(id);
      const said = "a collection has documents that its vector store does not; they are left out";
      log.warn(said, { store: id, documents: unknown.size });
    }
    return documents.filter((document) => known.has(document));
  }
}
