/** Questions put to one vector store, as OpenAI's API asks them. */
import { checkInputs } from "../embedding/embedding-service.ts";
import { given } from "../given.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { EmbedOptions } from "../ports/embedding-engine.ts";
import type { SearchBounds } from "../ports/passage-repository.ts";
import type { FoundPassage } from "../retrieval/found-passage.ts";
import type { RetrievalService } from "../retrieval/retrieval-service.ts";
import type { AttributeFilter } from "./attribute-filter.ts";
import type { DocumentCaller } from "./document-caller.ts";
import type { Attributes } from "./records.ts";
import type { StoreAccess } from "./store-access.ts";

export interface StoreQuestion {
  /** What is found for any of them counts. */
  queries: readonly string[];
  fieldOf: (index: number) => string;
  bounds: SearchBounds;
  filter?: AttributeFilter;
  /** Whether a reranking model judges, where the node has one. */
  isReranked: boolean;
}

export interface FoundInFile extends FoundPassage {
  attributes: Attributes;
}

export interface StoreSearchParts {
  registry: DocumentRegistry;
  access: StoreAccess;
  retrieval: RetrievalService;
}

export class StoreSearchService {
  readonly #parts: StoreSearchParts;

  constructor(parts: StoreSearchParts) {
    this.#parts = parts;
  }

  /** In descending score. */
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

  /** Passages with the attributes of the files that they are of. */
  async withAttributes(found: readonly FoundPassage[]): Promise<FoundInFile[]> {
    const files = found.map(({ store, file }) => ({ store, file }));
    const attributes = await this.#parts.registry.storeFiles.attributesOf(files);
    return found.map((point, at) => ({ ...point, attributes: attributes[at] ?? {} }));
  }
}
