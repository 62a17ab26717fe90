/** A file in SQuAD's format as a collection and its questions, for the benchmarks of retrieval. */
import type { EmbeddingModel, RerankingModel } from "../../src/core/models/model.ts";
import { ModelRegistry } from "../../src/core/models/model-registry.ts";
import type {
  Embedding,
  EmbeddingEngine,
  EmbeddingInput,
} from "../../src/core/ports/embedding-engine.ts";
import type {
  CollectionStore,
  PassageRepository,
} from "../../src/core/ports/passage-repository.ts";
import {
  type RetrievalMode,
  RetrievalService,
} from "../../src/core/retrieval/retrieval-service.ts";

export interface Squad {
  data: { paragraphs: { context: string; qas: { question: string }[] }[] }[];
}

export interface Paragraph {
  text: string;
  /** Which article it is of. */
  article: number;
}

interface Question {
  text: string;
  /** Which paragraph answers it. */
  paragraph: number;
  article: number;
}

export interface RetrievalSet {
  paragraphs: Paragraph[];
  questions: Question[];
}

export const benchCollection = "bench-retrieval";
const { signal } = new AbortController();

export function readSet({ data }: Squad): RetrievalSet {
  const all = data.flatMap(({ paragraphs }, article) =>
    paragraphs.map((paragraph) => ({ ...paragraph, article })),
  );
  return {
    paragraphs: all.map(({ context, article }) => ({ text: context, article })),
    questions: all.flatMap(({ qas, article }, paragraph) =>
      qas.map(({ question }) => ({ text: question, paragraph, article })),
    ),
  };
}

/** The whole paragraph is a passage, cut only where the model cannot take it; its document is its number. */
export async function fill(
  store: CollectionStore,
  { engine, identity }: EmbeddingModel,
  paragraphs: readonly (Paragraph & { number: number })[],
): Promise<PassageRepository> {
  await store.drop(benchCollection);
  const spec = { dimension: engine.dimension, embedding: identity };
  const repository = await store.create(benchCollection, spec);
  const { documentPrefix } = identity;
  const texts = await Promise.all(
    paragraphs.map(
      async ({ text }) => documentPrefix + (await shortened(engine, text, documentPrefix)),
    ),
  );
  const embeddings = await engine.embed(texts, { signal });
  await repository.upsert(
    paragraphs.map(({ text: source, number }, at) => ({
      id: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
      source,
      document: String(number),
      heading: "",
      position: 0,
      hash: "",
      documentHash: "",
      parts: 1,
      vector: embeddings[at]?.vector ?? new Float32Array(engine.dimension),
    })),
  );
  return repository;
}

async function shortened(
  engine: EmbeddingModel["engine"],
  text: string,
  prefix: string,
): Promise<string> {
  let words = text.split(/(?<=\s|[。！？])/);
  const tokens = async (): Promise<number> =>
    (await engine.countTokens([prefix + words.join("")]))[0] ?? 0;
  while (words.length > 1 && (await tokens()) > engine.maxTokens) {
    words = words.slice(0, -Math.min(8, Math.ceil(words.length / 8)));
  }
  return words.join("");
}

/** Retrieval over an open collection, with nothing left out for its score. */
export function serviceFor(
  embedding: EmbeddingModel,
  repository: PassageRepository,
  mode: RetrievalMode,
  reranker?: RerankingModel,
): RetrievalService {
  const names = [embedding.card, ...(reranker === undefined ? [] : [reranker.card])];
  const models = new ModelRegistry(names);
  models.add({ type: "embedding", ...embedding });
  if (reranker !== undefined) models.add({ type: "reranker", ...reranker });
  const service = new RetrievalService(
    models,
    {
      name: benchCollection,
      embeddingModel: embedding.card.name,
      url: "bench",
      bounds: { limit: 100, scoreThreshold: -1 },
    },
    { mode, candidates: 50, ...(reranker === undefined ? {} : { reranker: reranker.card.name }) },
  );
  const { queryPrefix } = embedding.identity;
  service.searchIn({
    check: async () => {},
    open: async () => ({
      all: [{ store: "", collection: benchCollection, repository, queryPrefix, shows: () => true }],
      [Symbol.dispose]: () => {},
    }),
  });
  service.attach({ repository, queryPrefix });
  return service;
}

/** The model, with each text embedded once: what is compared is what is made of the vectors. */
export function remembering(model: EmbeddingModel): EmbeddingModel {
  const { engine } = model;
  const known = new Map<EmbeddingInput, Embedding>();
  const remembers: EmbeddingEngine = {
    dimension: engine.dimension,
    maxTokens: engine.maxTokens,
    vocabularySize: engine.vocabularySize,
    countTokens: (inputs, options) => engine.countTokens(inputs, options),
    async embed(inputs, options) {
      const missing = [...new Set(inputs)].filter((input) => !known.has(input));
      const made = missing.length === 0 ? [] : await engine.embed(missing, options);
      missing.forEach((input, at) => {
        const embedding = made[at];
        if (embedding !== undefined) known.set(input, embedding);
      });
      return inputs.flatMap((input) => known.get(input) ?? []);
    },
  };
  return { ...model, engine: remembers };
}
