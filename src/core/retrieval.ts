/** Retrieval: the last user message, embedded and matched against the node's collection. */
import { checkInput } from "./embedding.ts";
import { NodeError } from "./errors.ts";
import type { ModelRegistry } from "./model.ts";
import type { ChatMessage } from "./ports/chat-engine.ts";
import type { PassageRepository, ScoredPassage, SearchBounds } from "./ports/passage-repository.ts";

export interface Collection {
  name: string;
  /** The embedding model whose vectors the collection holds; none where none is configured. */
  embeddingModel: string | undefined;
  /** Address of the store, without credentials. */
  url: string;
  bounds: SearchBounds;
}

export interface RetrievalRequest {
  model: string;
  messages: readonly ChatMessage[];
  /** Bounds of this request; they may narrow the node's, never widen them. */
  bounds: Partial<SearchBounds>;
}

export interface RetrievalResult {
  points: ScoredPassage[];
  bounds: SearchBounds;
}

export class RetrievalService {
  readonly collection: Collection;
  readonly #models: ModelRegistry;
  #repository: PassageRepository | undefined;

  constructor(models: ModelRegistry, collection: Collection) {
    this.#models = models;
    this.collection = collection;
  }

  /** Opens retrieval: until the collection is attached it answers that it is not ready. */
  attach(repository: PassageRepository): void {
    this.#repository = repository;
  }

  /** Whether it can answer, or has nothing to wait for. */
  get ready(): boolean {
    return this.#repository !== undefined || this.collection.embeddingModel === undefined;
  }

  async retrieve(
    request: RetrievalRequest,
    options: { signal: AbortSignal },
  ): Promise<RetrievalResult> {
    const { engine } = this.#models.embedding(request.model);
    this.#checkModel(request.model);
    const bounds = narrow(this.collection.bounds, request.bounds);
    const repository = this.#repository;
    if (repository === undefined) {
      throw new NodeError(
        "unavailable",
        "The node's collection is still being prepared. Try again in a moment.",
      );
    }
    const last = request.messages.findLastIndex(({ role }) => role === "user");
    const query = request.messages[last]?.content ?? "";
    checkInput(engine, query, `messages[${last}].content`);
    const [embedding] = await engine.embed([query], options);
    if (embedding === undefined) throw new NodeError("internal", "The query was not embedded.");
    return { points: await repository.search(embedding.vector, bounds), bounds };
  }

  #checkModel(name: string): void {
    const { embeddingModel } = this.collection;
    if (name === embeddingModel) return;
    throw new NodeError(
      "invalid_request",
      `The node's collection was filled with the embedding model '${embeddingModel}'; vectors of '${name}' cannot be matched against it.`,
      { param: "model" },
    );
  }
}

function narrow(node: SearchBounds, wanted: Partial<SearchBounds>): SearchBounds {
  return {
    limit: Math.min(node.limit, wanted.limit ?? node.limit),
    scoreThreshold: Math.max(node.scoreThreshold, wanted.scoreThreshold ?? node.scoreThreshold),
  };
}
