/**
 * What retrieval finds and how long it takes, on a file in SQuAD's format: its paragraphs are the
 * collection, its questions are asked. `bun bench:retrieval FILE [--qdrant URL] [--reranker FILE]`
 */
import { parseArgs } from "node:util";
import { type EmbeddingModel, ModelRegistry } from "../src/core/models/model.ts";
import type { CollectionStore, PassageRepository } from "../src/core/ports/passage-repository.ts";
import type { Reranker } from "../src/core/ports/reranker.ts";
import { type RetrievalMode, RetrievalService } from "../src/core/retrieval/retrieval-service.ts";
import { openBackend } from "../src/engine/backend.ts";
import { loadReranker } from "../src/engine/reranker.ts";
import { bareNode } from "../tests/support/bare-node.ts";
import { silentLog, silentProgress } from "../tests/support/silence.ts";
import { tempDir } from "../tests/support/temp-dir.ts";
import { measured } from "./statistics.ts";

interface Squad {
  data: { paragraphs: { context: string; qas: { question: string }[] }[] }[];
}

interface Question {
  text: string;
  /** Which paragraph answers it. */
  paragraph: number;
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { qdrant: { type: "string" }, reranker: { type: "string" } },
});
const [file] = positionals;
if (file === undefined) {
  console.error("Give a file in SQuAD's format: bun bench:retrieval FILE");
  process.exit(2);
}

const { signal } = new AbortController();
const collection = "bench-retrieval";
const depth = 10;

await using folder = await tempDir();
await using node = bareNode({ env: { PADDOCK_DATA_DIR: folder.path } });
const embedding = await node.loadEmbedding(signal);
const { paragraphs, questions } = read((await Bun.file(file).json()) as Squad);
console.log(
  `${paragraphs.length} paragraphs, ${questions.length} questions, model ${embedding.identity.model}\n`,
);
console.log("| Store | Mode | hit@1 | recall@10 | nDCG@10 | ms a query, median (p95) |");
console.log("|---|---|---|---|---|---|");

const stores: [string, CollectionStore][] = [["embedded", node.collectionStore()]];
if (options.qdrant !== undefined) stores.push(["Qdrant", node.collectionStore(options.qdrant)]);
const reranker = options.reranker === undefined ? undefined : await reranking(options.reranker);

for (const [name, store] of stores) {
  await store.drop(collection);
  await using repository = await fill(store, embedding);
  for (const mode of ["dense", "hybrid"] as const) {
    await measure(name, repository, mode);
    if (reranker !== undefined) await measure(name, repository, mode, reranker);
  }
  await store.drop(collection);
}

function read({ data }: Squad): { paragraphs: string[]; questions: Question[] } {
  const all = data.flatMap((article) => article.paragraphs);
  return {
    paragraphs: all.map(({ context }) => context),
    questions: all.flatMap(({ qas }, paragraph) =>
      qas.map(({ question }) => ({ text: question, paragraph })),
    ),
  };
}

async function reranking(path: string): Promise<Reranker> {
  const backend = await openBackend({ threads: 0, backend: "cpu", log: silentLog });
  return await loadReranker(backend, path, silentProgress);
}

/** A paragraph is a passage, cut only where the model cannot take the whole. */
async function fill(
  store: CollectionStore,
  { engine, identity }: EmbeddingModel,
): Promise<PassageRepository> {
  const spec = { dimension: engine.dimension, embedding: identity };
  const repository = await store.create(collection, spec);
  const { documentPrefix } = identity;
  const texts = await Promise.all(
    paragraphs.map(async (text) => documentPrefix + (await shortened(text, documentPrefix))),
  );
  const embeddings = await engine.embed(texts, { signal });
  await repository.upsert(
    paragraphs.map((source, at) => ({
      id: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
      source,
      document: String(at),
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

async function shortened(text: string, prefix: string): Promise<string> {
  const { engine } = embedding;
  let words = text.split(" ");
  const tokens = async (): Promise<number> =>
    (await engine.countTokens([prefix + words.join(" ")]))[0] ?? 0;
  while ((await tokens()) > engine.maxTokens) words = words.slice(0, -8);
  return words.join(" ");
}

async function measure(
  store: string,
  repository: PassageRepository,
  mode: RetrievalMode,
  judge?: Reranker,
): Promise<void> {
  const models = new ModelRegistry([{ name: embedding.card.name, type: "embedding" }]);
  models.add({ type: "embedding", ...embedding });
  const bounds = { limit: depth, scoreThreshold: -1 };
  const retrieval = new RetrievalService(
    models,
    { name: collection, embeddingModel: embedding.card.name, url: store, bounds },
    { mode, candidates: 50 },
  );
  const { queryPrefix } = embedding.identity;
  retrieval.attach({
    repository,
    queryPrefix,
    ...(judge === undefined ? {} : { reranker: judge }),
  });
  let [first, among, gain] = [0, 0, 0];
  const times: number[] = [];
  for (const { text, paragraph } of questions) {
    const startedAt = performance.now();
    const { points } = await retrieval.find(text, bounds, { signal });
    times.push(performance.now() - startedAt);
    const rank = points.findIndex(({ document }) => document === String(paragraph));
    if (rank === 0) first++;
    if (rank === -1) continue;
    among++;
    gain += 1 / Math.log2(rank + 2);
  }
  const share = (value: number): string => (value / questions.length).toFixed(3);
  const p95 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? 0;
  const name = judge === undefined ? mode : `${mode}, reranked`;
  console.log(
    `| ${store} | ${name} | ${share(first)} | ${share(among)} | ${share(gain)} | ${measured(times).median.toFixed(1)} (${p95.toFixed(1)}) |`,
  );
}
