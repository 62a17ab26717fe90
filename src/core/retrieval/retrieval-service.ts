/** Retrieval: a question, embedded and matched against the node's collection. */
import { checkInputs } from "../embedding/embedding-service.ts";
import { NodeError } from "../errors.ts";
import type { EmbeddingModel, ModelRegistry } from "../models/model.ts";
import type { ChatMessage } from "../ports/chat-engine.ts";
import type { EmbedOptions } from "../ports/embedding-engine.ts";
import type {
  Passage,
  PassageRepository,
  ScoredPassage,
  SearchBounds,
} from "../ports/passage-repository.ts";
import type { Reranker } from "../ports/reranker.ts";
import { fuse } from "./score-fusion.ts";

export type RetrievalMode = "dense" | "hybrid";

export interface Collection {
  name: string;
  /** The embedding model whose vectors the collection holds; none where none is configured. */
  embeddingModel: string | undefined;
  /** Address of the store, without credentials. */
  url: string;
  bounds: SearchBounds;
}

export interface RetrievalSettings {
  mode: RetrievalMode;
  /** How many passages are considered where more than their vectors decides. */
  candidates: number;
}

/** What retrieval searches: the open collection, and what ranks its passages. */
export interface RetrievalBackend {
  repository: PassageRepository;
  /** What the collection's model wants before a question; empty where it was filled without. */
  queryPrefix: string;
  reranker?: Reranker;
}

export interface RetrievalRequest {
  model: string;
  messages: readonly ChatMessage[];
  /** Bounds of this request; they may narrow the node's, never widen them. */
  bounds: Partial<SearchBounds>;
}

/** How the passages were found: what was asked for, or what the collection can do. */
export interface RetrievalMethod {
  mode: RetrievalMode;
  reranked: boolean;
}

export interface RetrievalResult {
  points: ScoredPassage[];
  bounds: SearchBounds;
  method: RetrievalMethod;
  /** How many the embedded question has. */
  tokens: number;
}

/** Until the collection is attached, or something fails. */
const preparing = new NodeError("unavailable", "The node's collection is still being prepared.");

export class RetrievalService {
  readonly collection: Collection;
  readonly #models: ModelRegistry;
  readonly #settings: RetrievalSettings;
  #backend: RetrievalBackend | undefined;
  #missing = preparing;
  #coming: string | undefined;

  constructor(models: ModelRegistry, collection: Collection, settings: RetrievalSettings) {
    this.#models = models;
    this.collection = collection;
    this.#settings = settings;
  }

  /** Attaches the collection; until then retrieval answers that it is not ready. */
  attach(backend: RetrievalBackend): void {
    this.#backend = backend;
  }

  /** Says why the collection is not attached. */
  unavailable(reason: NodeError): void {
    this.#missing = reason;
  }

  /** Whether the collection is not there yet, and nothing has failed. */
  get isPreparing(): boolean {
    return this.#backend === undefined && this.#missing === preparing;
  }

  /** Says that passages are still being stored; undefined: that all are there. */
  expectPassages(notice: string | undefined): void {
    this.#coming = notice;
  }

  /** What is to be said while not all passages are there yet; undefined once they are. */
  get coming(): string | undefined {
    return this.#coming;
  }

  /** Why it cannot answer now; undefined where it can, or has nothing to answer from. */
  async problem(): Promise<string | undefined> {
    if (this.collection.embeddingModel === undefined) return undefined;
    if (this.#backend === undefined) return this.#missing.message;
    return await this.#backend.repository.count().then(
      () => undefined,
      (error: unknown) =>
        error instanceof NodeError ? error.message : "The node's collection cannot be read.",
    );
  }

  async retrieve(request: RetrievalRequest, options: EmbedOptions): Promise<RetrievalResult> {
    const { engine } = this.#models.embedding(request.model);
    this.#checkModel(request.model);
    const backend = this.#ready();
    const last = request.messages.findLastIndex(({ role }) => role === "user");
    const question = request.messages[last]?.content ?? "";
    await checkInputs(engine, [question], {
      fieldOf: () => `messages[${last}].content`,
      signal: options.signal,
      prefix: backend.queryPrefix,
    });
    return await this.find(question, this.#narrow(request.bounds), options, backend);
  }

  /** Those of the passages that the collection has now. */
  async read(ids: readonly string[]): Promise<Passage[]> {
    return await this.#ready().repository.read(ids);
  }

  /** What is put before a question; nothing while there is no collection. */
  get queryPrefix(): string {
    return this.#backend?.queryPrefix ?? "";
  }

  /** The embedding model that matches questions. */
  model(): EmbeddingModel {
    const { embeddingModel } = this.collection;
    if (embeddingModel !== undefined) return this.#models.embedding(embeddingModel);
    throw new NodeError("unavailable", "This node has no embedding model, and so no collection.");
  }

  /** The passages that match a question which the embedding model can take. */
  async find(
    question: string,
    bounds: SearchBounds,
    options: EmbedOptions,
    backend?: RetrievalBackend,
  ): Promise<RetrievalResult> {
    const from = performance.now();
    const report = (passages?: number): void =>
      options.report?.({ type: "retrieved", passages, from, to: performance.now() });
    try {
      const result = await this.#search(question, bounds, options, backend ?? this.#ready());
      report(result.points.length);
      return result;
    } catch (error) {
      // A search that its caller gave up did not fail.
      if (!options.signal.aborted) report();
      throw error;
    }
  }

  async #search(
    question: string,
    bounds: SearchBounds,
    options: EmbedOptions,
    { repository, queryPrefix, reranker }: RetrievalBackend,
  ): Promise<RetrievalResult> {
    const [embedding] = await this.model().engine.embed([queryPrefix + question], options);
    if (embedding === undefined) throw new NodeError("internal", "The query was not embedded.");
    const { vector, tokens } = embedding;
    const { candidates } = this.#settings;
    const hybrid = this.#settings.mode === "hybrid" && repository.matchesWords;
    const method: RetrievalMethod = {
      mode: hybrid ? "hybrid" : "dense",
      reranked: reranker !== undefined,
    };
    if (!hybrid && reranker === undefined) {
      return { points: await repository.search(vector, bounds), bounds, method, tokens };
    }
    const wide = { limit: Math.max(bounds.limit, candidates), scoreThreshold: -1 };
    const [near, matched] = await Promise.all([
      repository.search(vector, wide),
      hybrid ? repository.matchWords(question, vector, wide.limit) : [],
    ]);
    const found = fuse(near, matched).slice(0, wide.limit);
    const judged =
      reranker === undefined ? found : await rerank(reranker, question, found, options);
    const points = judged
      .filter(({ score }) => score >= bounds.scoreThreshold)
      .slice(0, bounds.limit);
    return { points, bounds, method, tokens };
  }

  #ready(): RetrievalBackend {
    if (this.#backend !== undefined) return this.#backend;
    const { kind, message } = this.#missing;
    throw new NodeError(kind, message, { cause: this.#missing });
  }

  #narrow(wanted: Partial<SearchBounds>): SearchBounds {
    return narrow(this.collection.bounds, wanted);
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

/** Bounds that are nowhere wider than the node's. */
export function narrow(node: SearchBounds, wanted: Partial<SearchBounds>): SearchBounds {
  return {
    limit: Math.min(node.limit, wanted.limit ?? node.limit),
    scoreThreshold: Math.max(node.scoreThreshold, wanted.scoreThreshold ?? node.scoreThreshold),
  };
}

/** The mean of what the vectors and what the reranking model say. */
async function rerank(
  reranker: Reranker,
  question: string,
  found: readonly ScoredPassage[],
  options: { signal: AbortSignal },
): Promise<ScoredPassage[]> {
  const sources = found.map(({ source }) => source);
  const relevances = await reranker.rank(question, sources, options);
  return found
    .map((passage, at) => ({ ...passage, score: (passage.score + (relevances[at] ?? 0)) / 2 }))
    .sort((a, b) => b.score - a.score);
}
