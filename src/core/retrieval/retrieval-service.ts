/** Retrieval: embeds a question and finds the passages that match it. */
import { untilAborted } from "../abort.ts";
import type { DocumentCaller } from "../documents/document-caller.ts";
import type { StoreSearchService } from "../documents/store-search.ts";
import { checkInputs } from "../embedding/embedding-service.ts";
import { copyOf, NodeError } from "../errors.ts";
import { given } from "../given.ts";
import type { EmbeddingModel } from "../models/model.ts";
import type { ModelRegistry } from "../models/model-registry.ts";
import type { ChatMessage } from "../ports/chat-engine.ts";
import type { EmbedOptions } from "../ports/embedding-engine.ts";
import type { PassageRepository, SearchBounds } from "../ports/passage-repository.ts";
import { withPatience } from "../readiness.ts";
import { Places } from "../turns.ts";
import {
  type FoundPassage,
  located,
  type PassagePlace,
  type RetrievalMode,
  type RetrievalResult,
  type SearchScope,
  type SearchTarget,
  searchAll,
} from "./search.ts";

export interface Collection {
  name: string;
  /** The embedding model whose vectors the collection holds; undefined if none is configured. */
  embeddingModel: string | undefined;
  url: string;
  bounds: SearchBounds;
}

export interface RetrievalSettings {
  mode: RetrievalMode;
  candidates: number;
  reranker?: string;
  /** How long the collection may take to answer before it counts as hanging. Default: 10000, twice what Qdrant has. */
  patienceMs?: number;
}

export interface RetrievalBackend {
  repository: PassageRepository;
  /** The collection's prefix for questions; empty if it was filled without. */
  queryPrefix: string;
}

export interface RetrievalRequest {
  model: string;
  messages: readonly ChatMessage[];
  /** Bounds of this request; they can only narrow the node's. */
  bounds: Partial<SearchBounds>;
  scope: SearchScope;
}

type SearchableStores = Pick<StoreSearchService, "check" | "open">;

/** How long a question waits for passages that are being stored: a right answer later is better than a wrong one now. */
const mostWaitMs = 10_000;
/** And how long after storing began: the handbook comes with its vectors and takes a second or two, or some more beside other work; anything slower may take minutes. */
const mostStoringMs = 60_000;

/** Searches with a filter that one caller has at a time: each may hold what it says of a hundred thousand files. */
const mostFiltered = 8;

/** Reported until the collection is attached, or something fails. */
const preparing = "The node's collection is still being prepared.";

const hanging = "The node's collection does not answer. Check the disk of the data dir.";

const unread = (error: unknown): string =>
  error instanceof NodeError ? error.message : "The node's collection cannot be read.";

/** Passages that are still being stored: what is said of them meanwhile, and who waits for them. */
class ComingPassages {
  #notice: string | undefined;
  #stored = Promise.withResolvers<void>();
  #waitUntil = 0;

  /** Undefined: all are stored. */
  get notice(): string | undefined {
    return this.#notice;
  }

  /** Reports that passages are still being stored; undefined: all are stored. */
  expect(notice: string | undefined): void {
    if (this.#notice === undefined && notice !== undefined) {
      this.#stored = Promise.withResolvers();
      this.#waitUntil = performance.now() + mostStoringMs;
    }
    this.#notice = notice;
    if (notice === undefined) this.#stored.resolve();
  }

  /** Waits until all are stored, for ten seconds at most; throws if the signal aborts. */
  async stored(signal: AbortSignal): Promise<void> {
    const waitMs = Math.min(mostWaitMs, this.#waitUntil - performance.now());
    if (this.#notice === undefined || waitMs <= 0) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    const stored = untilAborted(Promise.race([this.#stored.promise, late]), signal);
    await stored.finally(() => clearTimeout(timer));
  }
}

export class RetrievalService {
  readonly collection: Collection;
  readonly coming = new ComingPassages();
  readonly #models: ModelRegistry;
  readonly #settings: RetrievalSettings;
  #backend: RetrievalBackend | undefined;
  #missing: NodeError | undefined;
  #stores: SearchableStores | undefined;
  readonly #filtered = new Places(mostFiltered);
  readonly #ask: () => Promise<string | undefined>;

  constructor(models: ModelRegistry, collection: Collection, settings: RetrievalSettings) {
    this.#models = models;
    this.collection = collection;
    this.#settings = settings;
    const { patienceMs = 10_000 } = settings;
    const ask = async () => await this.#backend?.repository.count().then(() => undefined, unread);
    this.#ask = withPatience(ask, { late: hanging, patienceMs });
  }

  attach(backend: RetrievalBackend): void {
    this.#backend = backend;
  }

  /** Set by the documents, which need retrieval in turn. */
  searchIn(stores: SearchableStores): void {
    this.#stores = stores;
  }

  unavailable(reason: NodeError): void {
    this.#missing = reason;
  }

  get isPreparing(): boolean {
    return this.#backend === undefined && this.#missing === undefined;
  }

  /** Why it cannot answer now; undefined if it can, or if there is no embedding model. */
  async problem(): Promise<string | undefined> {
    if (this.collection.embeddingModel === undefined) return undefined;
    if (this.#backend === undefined) return this.#missing?.message ?? preparing;
    return await this.#ask();
  }

  async retrieve(request: RetrievalRequest, options: EmbedOptions): Promise<RetrievalResult> {
    const { engine } = this.#models.embedding(request.model);
    const { embeddingModel } = this.collection;
    if (request.model !== embeddingModel) {
      const why = `The node's collection was filled with the embedding model '${embeddingModel}'; vectors of '${request.model}' cannot be matched against it.`;
      throw new NodeError("invalid_request", why, { param: "model" });
    }
    const backend = this.#ready();
    const last = request.messages.findLastIndex(({ role }) => role === "user");
    const question = request.messages[last]?.content ?? "";
    await checkInputs(engine, [question], {
      fieldOf: () => `messages[${last}].content`,
      signal: options.signal,
      prefix: backend.queryPrefix,
    });
    const bounds = narrow(this.collection.bounds, request.bounds);
    return await this.find(question, bounds, options, request.scope);
  }

  /** Throws if the scope names something that does not exist or that its caller may not use. */
  async check(scope: SearchScope): Promise<void> {
    try {
      await this.#stores?.check(scope);
    } catch (error) {
      // If it cannot be checked now, the search itself fails, and reports so.
      if (!(error instanceof NodeError && error.kind === "unavailable")) throw error;
    }
  }

  /** Reads passages that the caller was given before, as far as they still exist. */
  async read(places: readonly PassagePlace[], caller: DocumentCaller): Promise<FoundPassage[]> {
    const passages: FoundPassage[] = [];
    for (const [store, held] of Map.groupBy(places, ({ store }) => store)) {
      const scores = new Map(held.map(({ id, score }) => [id, score]));
      try {
        for await (const [target] of this.#targets({ caller, stores: [store] })) {
          if (target === undefined) continue;
          const read = await target.repository.read([...scores.keys()]);
          const shown = await target.shown(read.map(({ document }) => document));
          for (const passage of read) {
            if (!shown.has(passage.document)) continue;
            passages.push(located({ ...passage, score: scores.get(passage.id) ?? 0 }, target));
          }
        }
      } catch (error) {
        unlessGone(error);
      }
    }
    return passages;
  }

  get queryPrefix(): string {
    return this.#backend?.queryPrefix ?? "";
  }

  model(): EmbeddingModel {
    const { embeddingModel } = this.collection;
    if (embeddingModel !== undefined) return this.#models.embedding(embeddingModel);
    throw new NodeError("unavailable", "This node has no embedding model, and so no collection.");
  }

  async find(
    question: string,
    bounds: SearchBounds,
    options: EmbedOptions,
    scope: SearchScope,
  ): Promise<RetrievalResult> {
    const find = () => this.#find(question, bounds, options, scope);
    if (scope.filter === undefined) return await find();
    return await this.#filtered.run(scope.caller.id ?? "", async () => {
      // Its client may have left while it waited.
      options.signal.throwIfAborted();
      return await find();
    });
  }

  async #find(
    question: string,
    bounds: SearchBounds,
    options: EmbedOptions,
    scope: SearchScope,
  ): Promise<RetrievalResult> {
    const from = performance.now();
    const report = (passages?: number): void =>
      options.report?.({ type: "retrieved", passages, from, to: performance.now() });
    try {
      const result = await this.#search(question, bounds, options, scope);
      report(result.points.length);
      return result;
    } catch (error) {
      // A search that was aborted did not fail.
      if (!options.signal.aborted) report();
      throw error;
    }
  }

  async #search(
    question: string,
    bounds: SearchBounds,
    options: EmbedOptions,
    scope: SearchScope,
  ): Promise<RetrievalResult> {
    const { mode, candidates, reranker: name } = this.#settings;
    const { isReranked = true } = scope;
    const reranker =
      isReranked && name !== undefined ? this.#models.reranker(name).engine : undefined;
    const embed = (texts: readonly string[]) => this.model().engine.embed(texts, options);
    const search = { question, bounds, mode, candidates, embed, options, ...given({ reranker }) };
    return await searchAll(this.#targets(scope), search);
  }

  #targets(scope: SearchScope): AsyncIterable<SearchTarget[]> {
    if (this.#stores === undefined) throw new NodeError("unavailable", preparing);
    return this.#stores.open(scope, () => this.#ready());
  }

  #ready(): RetrievalBackend {
    if (this.#backend !== undefined) return this.#backend;
    if (this.#missing === undefined) throw new NodeError("unavailable", preparing);
    throw copyOf(this.#missing);
  }
}

export function narrow(node: SearchBounds, wanted: Partial<SearchBounds>): SearchBounds {
  return {
    limit: Math.min(node.limit, wanted.limit ?? node.limit),
    scoreThreshold: Math.max(node.scoreThreshold, wanted.scoreThreshold ?? node.scoreThreshold),
  };
}

/** A vector store that was deleted meanwhile has nothing to read. */
function unlessGone(error: unknown): void {
  if (!(error instanceof NodeError && error.kind === "no_such_object")) throw error;
}
