/** A collection of texts and a search of it, for the benchmarks of retrieval. */
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
import { RetrievalService } from "../../src/core/retrieval/retrieval-service.ts";
import type { RetrievalMode } from "../../src/core/retrieval/search.ts";

export const benchCollection = "bench-retrieval";
const { signal } = new AbortController();

/** A whole text is a passage, cut only where the model cannot take it; its document is its number. */
export async function fill(
  store: CollectionStore,
  { engine, identity }: EmbeddingModel,
  sources: readonly string[],
): Promise<PassageRepository> {
  await store.drop(benchCollection);
  const spec = { dimension: engine.dimension, embedding: identity };
  const repository = await store.create(benchCollection, spec);
  const { documentPrefix } = identity;
  for (let from = 0; from < sources.length; from += batch) {
    const some = sources.slice(from, from + batch);
    const texts = await Promise.all(
      some.map(async (text) => documentPrefix + (await shortened(engine, text, documentPrefix))),
    );
    const embeddings = await engine.embed(texts, { signal });
    await repository.upsert(
      some.map((source, at) => ({
        id: `00000000-0000-4000-8000-${String(from + at).padStart(12, "0")}`,
        source,
        document: String(from + at),
        heading: "",
        position: 0,
        hash: "",
        documentHash: "",
        parts: 1,
        vector: embeddings[at]?.vector ?? new Float32Array(engine.dimension),
      })),
    );
  }
  return repository;
}

/** Texts that are embedded and stored together. */
const batch = 256;

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
    async *open() {
      yield [
        {
          store: "",
          collection: benchCollection,
          repository,
          queryPrefix,
          shown: async (documents: readonly string[]) => new Set(documents),
        },
      ];
    },
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
