/**
 * The embedded store at size: `bun bench:store [--count 100000] [--texts FILE]`. Vectors are made
 * up, with 48 directions in which they vary; or, with a file in SQuAD's format, embedded from runs
 * of its words by the starter model. Searches are compared with an exact scan.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { EmbeddedPassage } from "../../src/core/ports/passage-repository.ts";
import { openEmbeddingModel } from "../../src/node/documents/node-collection.ts";
import { SqliteCollectionStore } from "../../src/store/sqlite/sqlite-collections.ts";
import { bareNodeOptions } from "../../tests/support/bare-node.ts";
import { randomNumbers } from "../../tests/support/random-llama.ts";
import { silentLog } from "../../tests/support/silence.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";

const { values: options } = parseArgs({
  options: {
    count: { type: "string", default: "100000" },
    texts: { type: "string" },
    /** Set for the process that opens and searches, so that its memory is that alone. */
    search: { type: "string" },
  },
});
const count = Number(options.count);
const dimension = 384;
const queryCount = 500;
const neighbours = 5;
const bounds = { limit: neighbours, scoreThreshold: -1 };
const { signal } = new AbortController();
const seconds = (from: number): string => ((performance.now() - from) / 1000).toFixed(1);

if (options.search === undefined) await fill();
else await search(options.search);

async function fill(): Promise<void> {
  await using folder = await tempDir();
  const store = new SqliteCollectionStore(folder.path, silentLog);
  const embedding = { model: "bench", fingerprint: "", queryPrefix: "", documentPrefix: "" };
  const queries: Float32Array[] = [];
  {
    await using repository = await store.create("bench", { dimension, embedding });
    const startedAt = performance.now();
    let storing = 0;
    let stored = 0;
    const made = options.texts === undefined ? madeUp() : embedded(options.texts);
    let batch: EmbeddedPassage[] = [];
    for await (const { source, vector } of made) {
      if (queries.length < queryCount) {
        queries.push(vector);
        continue;
      }
      batch.push(toPassage(stored + batch.length, source, vector));
      if (batch.length < 500 && stored + batch.length < count) continue;
      const from = performance.now();
      await repository.upsert(batch);
      storing += performance.now() - from;
      stored += batch.length;
      batch = [];
      if (stored >= count) break;
    }
    console.log(
      `stored ${stored} passages in ${(storing / 1000).toFixed(1)} s of ${seconds(startedAt)} s`,
    );
    const from = performance.now();
    const probe = queries[0] ?? new Float32Array(dimension);
    const first = performance.now();
    await repository.search(probe, bounds);
    console.log(`a search while the index grows: ${(performance.now() - first).toFixed(0)} ms`);
    // Searches are slow for as long as rows are scanned; the index is done when they are not.
    let took = Number.POSITIVE_INFINITY;
    while (took > 3) {
      await Bun.sleep(1000);
      const again = performance.now();
      await repository.search(probe, bounds);
      took = performance.now() - again;
    }
    console.log(`the index was done ${seconds(from)} s later`);
  }
  for (const name of await readdir(folder.path)) {
    const { size } = await stat(join(folder.path, name));
    console.log(`  ${name}: ${(size / 1e6).toFixed(0)} MB`);
  }
  await Bun.write(
    join(folder.path, "queries"),
    Buffer.concat(queries.map(({ buffer }) => Buffer.from(buffer))),
  );
  // What was just written is on its way to the disk, which would be measured too.
  Bun.spawnSync(["sync"]);
  await Bun.sleep(5000);
  const child = Bun.spawn([process.execPath, import.meta.path, "--search", folder.path], {
    stdout: "inherit",
    stderr: "inherit",
  });
  await child.exited;
}

async function search(folder: string): Promise<void> {
  const memory = (): number => process.memoryUsage.rss() / 1e6;
  const before = memory();
  const from = performance.now();
  await using repository = await new SqliteCollectionStore(folder, silentLog).open("bench");
  if (repository === undefined) throw new Error("There is nothing to search");
  console.log(`opened in ${(performance.now() - from).toFixed(0)} ms`);
  const bytes = await Bun.file(join(folder, "queries")).arrayBuffer();
  const queries = Array.from(
    { length: bytes.byteLength / 4 / dimension },
    (_, at) => new Float32Array(bytes, at * dimension * 4, dimension),
  );
  const times: number[] = [];
  const found: number[][] = [];
  for (const query of queries) {
    const start = performance.now();
    const points = await repository.search(query, bounds);
    times.push(performance.now() - start);
    found.push(points.map(({ score }) => score));
  }
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(2);
  console.log(`search of ${neighbours}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms`);
  console.log(`memory: ${(memory() - before).toFixed(0)} MB more than before opening`);
  const exact = await exactScores(repository.passages(), queries);
  const hits = found.map((scores, query) => {
    const least = (exact[query]?.[neighbours - 1] ?? 0) - 1e-6;
    return scores.filter((score) => score >= least).length;
  });
  const recall = hits.reduce((sum, hit) => sum + hit, 0) / (queries.length * neighbours);
  console.log(`recall@${neighbours}: ${recall.toFixed(4)}`);
}

/** The best scores of every query, over all passages. */
async function exactScores(
  passages: AsyncIterable<EmbeddedPassage>,
  queries: readonly Float32Array[],
): Promise<number[][]> {
  const best = queries.map((): number[] => []);
  for await (const { vector } of passages) {
    for (const [at, query] of queries.entries()) {
      let score = 0;
      for (let index = 0; index < dimension; index++)
        score += (query[index] ?? 0) * (vector[index] ?? 0);
      const scores = best[at] ?? [];
      if (scores.length === neighbours && score <= (scores.at(-1) ?? 0)) continue;
      scores.push(score);
      scores.sort((a, b) => b - a);
      scores.length = Math.min(scores.length, neighbours);
    }
  }
  return best;
}

function toPassage(at: number, source: string, vector: Float32Array): EmbeddedPassage {
  return {
    id: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
    source,
    document: `document ${Math.floor(at / 100)}`,
    heading: "",
    position: at % 100,
    hash: "",
    documentHash: "",
    parts: 100,
    vector,
  };
}

async function* madeUp(): AsyncGenerator<{ source: string; vector: Float32Array }> {
  const directions = 48;
  const normal = normalNumbers(1);
  const mixture = Float32Array.from({ length: directions * dimension }, normal);
  while (true) {
    const place = Float32Array.from({ length: directions }, normal);
    const vector = Float32Array.from({ length: dimension }, (_, at) => {
      let value = normal() * 0.6;
      for (let index = 0; index < directions; index++) {
        value += (place[index] ?? 0) * (mixture[index * dimension + at] ?? 0);
      }
      return value;
    });
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    yield {
      source: "A passage of the usual length. ".repeat(25),
      vector: vector.map((v) => v / length),
    };
  }
}

/** Runs of 6 to 20 words from anywhere in the file's paragraphs. */
async function* embedded(file: string): AsyncGenerator<{ source: string; vector: Float32Array }> {
  const squad: { data: { paragraphs: { context: string }[] }[] } = await Bun.file(file).json();
  const paragraphs = squad.data.flatMap((article) => article.paragraphs);
  const words = paragraphs.flatMap(({ context }) => context.split(/\s+/));
  await using folder = await tempDir();
  const options = bareNodeOptions({ env: { PADDOCK_DATA_DIR: folder.path } });
  await using model = await openEmbeddingModel(options, signal);
  const { engine } = model.embedding;
  const random = randomNumbers(7);
  while (true) {
    const texts = Array.from({ length: 256 }, () => {
      const from = Math.floor(random() * (words.length - 20));
      return words.slice(from, from + 6 + Math.floor(random() * 15)).join(" ");
    });
    const embeddings = await engine.embed(texts, { signal });
    for (const [at, { vector }] of embeddings.entries()) yield { source: texts[at] ?? "", vector };
  }
}

function normalNumbers(seed: number): () => number {
  const random = randomNumbers(seed);
  return () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
}
