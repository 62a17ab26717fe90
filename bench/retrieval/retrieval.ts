/**
 * What retrieval finds and how long it takes, on files in SQuAD's format and folders in BEIR's: their
 * texts are the collection, their questions are asked. nDCG as BEIR's tables have it.
 * `bun bench:retrieval SET… [--k N] [--model SOURCE] [--threads N] [--qdrant URL] [--reranker FILE]`
 */

import { parseArgs } from "node:util";
import { theNode } from "../../src/core/documents/document-caller.ts";
import type { RerankingModel } from "../../src/core/models/model.ts";
import type {
  CollectionStore,
  PassageRepository,
} from "../../src/core/ports/passage-repository.ts";
import type { RetrievalMode } from "../../src/core/retrieval/search.ts";
import { openBackend } from "../../src/engine/load-backend.ts";
import { loadModel } from "../../src/engine/load-model.ts";
import { collectionStore, openEmbeddingModel } from "../../src/node/documents/node-collection.ts";
import { bareNodeOptions } from "../../tests/support/bare-node.ts";
import { silentLog, silentProgress } from "../../tests/support/silence.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { neutralSettings, tinySpec } from "../../tests/support/tiny-engines.ts";
import { count } from "../measuring/options.ts";
import { measured } from "../measuring/statistics.ts";
import { readSet } from "./question-set.ts";
import { benchCollection, fill, serviceFor } from "./retrieval-set.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    k: { type: "string", default: "10" },
    model: { type: "string" },
    // On a machine that others use, one thread is faster than several that wait for each other.
    threads: { type: "string", default: "0" },
    qdrant: { type: "string" },
    reranker: { type: "string" },
  },
});
if (positionals.length === 0) {
  console.error("Give files in SQuAD's format or folders in BEIR's: bun bench:retrieval SET…");
  process.exit(2);
}

const { signal } = new AbortController();
const depth = count("k", options.k);

await using folder = await tempDir();
const nodeOptions = bareNodeOptions({
  env: { PADDOCK_DATA_DIR: folder.path, PADDOCK_THREADS: options.threads },
  ...(options.model === undefined ? {} : { toml: configurationOf(options.model) }),
});
await using model = await openEmbeddingModel(nodeOptions, signal);
const { embedding } = model;
const sets = await Promise.all(positionals.map(readSet));
const sizes = sets.map(({ name, texts, questions }) => {
  return `${name}: ${texts.length} texts, ${questions.length} questions`;
});
console.log(`${sizes.join("; ")}; model ${embedding.identity.model}\n`);

const some = sets.flatMap(({ texts }) => texts.slice(0, 100)).map((text) => text.slice(0, 400));
const startedAt = performance.now();
await embedding.engine.embed(some, { signal });
const cost = (performance.now() - startedAt) / some.length;
console.log(`${cost.toFixed(1)} ms to embed a text of 400 characters\n`);
console.log(
  `| Set | Store | Mode | hit@1 | recall@${depth} | nDCG@${depth} | ms a query, median (p95) |`,
);
console.log("|---|---|---|---|---|---|---|");

const stores: [string, CollectionStore][] = [["embedded", collectionStore(nodeOptions)]];
if (options.qdrant !== undefined)
  stores.push(["Qdrant", collectionStore(nodeOptions, options.qdrant)]);
const reranker = options.reranker === undefined ? undefined : await reranking(options.reranker);

for (const set of sets) {
  for (const [name, store] of stores) {
    await using repository = await fill(store, embedding, set.texts);
    for (const mode of ["dense", "hybrid"] as const) {
      await measure(set, name, repository, mode);
      if (reranker !== undefined) await measure(set, name, repository, mode, reranker);
    }
    await store.drop(benchCollection);
  }
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
  { name: set, questions }: (typeof sets)[number],
  store: string,
  repository: PassageRepository,
  mode: RetrievalMode,
  judge?: RerankingModel,
): Promise<void> {
  const retrieval = serviceFor(embedding, repository, mode, judge);
  const bounds = { limit: depth, scoreThreshold: -1 };
  let [first, among, gain] = [0, 0, 0];
  const times: number[] = [];
  for (const { text, relevant } of questions) {
    const startedAt = performance.now();
    const { points } = await retrieval.find(text, bounds, { signal }, { caller: theNode });
    times.push(performance.now() - startedAt);
    const grades = points.map(({ document }) => relevant.get(Number(document)) ?? 0);
    if ((grades[0] ?? 0) > 0) first++;
    among += grades.filter((grade) => grade > 0).length / relevant.size;
    gain += gainOf(grades) / gainOf([...relevant.values()].sort((a, b) => b - a).slice(0, depth));
  }
  const share = (value: number): string => (value / questions.length).toFixed(3);
  const p95 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? 0;
  const how = judge === undefined ? mode : `${mode}, reranked`;
  console.log(
    `| ${set} | ${store} | ${how} | ${share(first)} | ${share(among)} | ${share(gain)} | ${measured(times).median.toFixed(1)} (${p95.toFixed(1)}) |`,
  );
}

/** What is relevant counts less the later it comes. */
function gainOf(grades: readonly number[]): number {
  return grades.reduce((sum, grade, rank) => sum + grade / Math.log2(rank + 2), 0);
}
