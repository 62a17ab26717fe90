/**
 * What retrieval finds and how long it takes, on a file in SQuAD's format: its paragraphs are the
 * collection, its questions are asked.
 * `bun bench:retrieval FILE [--model SOURCE] [--threads N] [--qdrant URL] [--reranker FILE]`
 */

import { parseArgs } from "node:util";
import { theNode } from "../../src/core/documents/document-caller.ts";
import type { RerankingModel } from "../../src/core/models/model.ts";
import type {
  CollectionStore,
  PassageRepository,
} from "../../src/core/ports/passage-repository.ts";
import type { RetrievalMode } from "../../src/core/retrieval/retrieval-service.ts";
import { openBackend } from "../../src/engine/load-backend.ts";
import { loadModel } from "../../src/engine/load-model.ts";
import { collectionStore, openEmbeddingModel } from "../../src/node/documents/node-collection.ts";
import { bareNodeOptions } from "../../tests/support/bare-node.ts";
import { silentLog, silentProgress } from "../../tests/support/silence.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { neutralSettings, tinySpec } from "../../tests/support/tiny-engines.ts";
import { measured } from "../measuring/statistics.ts";
import { benchCollection, fill, readSet, type Squad, serviceFor } from "./retrieval-set.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    model: { type: "string" },
    // On a machine that others use, one thread is faster than several that wait for each other.
    threads: { type: "string", default: "0" },
    qdrant: { type: "string" },
    reranker: { type: "string" },
  },
});
const [file] = positionals;
if (file === undefined) {
  console.error("Give a file in SQuAD's format: bun bench:retrieval FILE");
  process.exit(2);
}

const { signal } = new AbortController();
const depth = 10;

await using folder = await tempDir();
const nodeOptions = bareNodeOptions({
  env: { PADDOCK_DATA_DIR: folder.path, PADDOCK_THREADS: options.threads },
  ...(options.model === undefined ? {} : { toml: configurationOf(options.model) }),
});
await using model = await openEmbeddingModel(nodeOptions, signal);
const { embedding } = model;
const { paragraphs, questions } = readSet((await Bun.file(file).json()) as Squad);
console.log(
  `${paragraphs.length} paragraphs, ${questions.length} questions, model ${embedding.identity.model}\n`,
);

const numbered = paragraphs.map((paragraph, number) => ({ ...paragraph, number }));
const texts = numbered.slice(0, 100).map(({ text }) => text.slice(0, 400));
const startedAt = performance.now();
await embedding.engine.embed(texts, { signal });
const cost = (performance.now() - startedAt) / texts.length;
console.log(`${cost.toFixed(1)} ms to embed a text of 400 characters\n`);
console.log("| Store | Mode | hit@1 | recall@10 | nDCG@10 | ms a query, median (p95) |");
console.log("|---|---|---|---|---|---|");

const stores: [string, CollectionStore][] = [["embedded", collectionStore(nodeOptions)]];
if (options.qdrant !== undefined)
  stores.push(["Qdrant", collectionStore(nodeOptions, options.qdrant)]);
const reranker = options.reranker === undefined ? undefined : await reranking(options.reranker);

for (const [name, store] of stores) {
  await using repository = await fill(store, embedding, numbered);
  for (const mode of ["dense", "hybrid"] as const) {
    await measure(name, repository, mode);
    if (reranker !== undefined) await measure(name, repository, mode, reranker);
  }
  await store.drop(benchCollection);
}

function configurationOf(source: string): string {
  return `[[models]]\nname = "bench"\ntype = "embedding"\nsource = ${JSON.stringify(source)}\n`;
}

async function reranking(path: string): Promise<RerankingModel> {
  const backend = await openBackend({ threads: 0, backend: "cpu", log: silentLog });
  const settings = { ...neutralSettings, ctxSize: 0 };
  const spec = tinySpec({ name: "judge", type: "reranker", path, settings });
  const model = await loadModel(backend, spec, silentProgress);
  if (model.type !== "reranker") throw new Error(`${path} does not rank`);
  return model;
}

async function measure(
  store: string,
  repository: PassageRepository,
  mode: RetrievalMode,
  judge?: RerankingModel,
): Promise<void> {
  const retrieval = serviceFor(embedding, repository, mode, judge);
  const bounds = { limit: depth, scoreThreshold: -1 };
  let [first, among, gain] = [0, 0, 0];
  const times: number[] = [];
  for (const { text, paragraph } of questions) {
    const startedAt = performance.now();
    const { points } = await retrieval.find(text, bounds, { signal }, { caller: theNode });
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
