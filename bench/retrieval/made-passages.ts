/** Passages for the store at size: made up, or runs of a text's words with their real vectors; and exact answers to compare with. */
import { exactSearch, MetricKind } from "usearch";
import type { EmbeddedPassage } from "../../src/core/ports/passage-repository.ts";
import { openEmbeddingModel } from "../../src/node/documents/node-collection.ts";
import { bareNodeOptions } from "../../tests/support/bare-node.ts";
import { randomNumbers } from "../../tests/support/random-llama.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";

export const dimension = 384;
/** Passages of one document. */
export const documentSize = 100;

export interface Made {
  source: string;
  vector: Float32Array;
}

/** Vectors vary in some directions; 60 words a passage, of 200,000 whose frequency falls with their rank, as in natural text. */
export async function* madeUp(directions: number): AsyncGenerator<Made> {
  const random = randomNumbers(1);
  const normals = Float32Array.from({ length: 1 << 20 }, normalNumbers(2));
  const normal = (): number => normals[Math.floor(random() * normals.length)] ?? 0;
  const mixture = Float32Array.from({ length: directions * dimension }, normal);
  const vocabulary = Array.from({ length: 200_000 }, (_, rank) => `w${rank.toString(36)}7`);
  const word = (): string =>
    vocabulary[Math.floor(vocabulary.length ** random()) - 1] ?? vocabulary[0] ?? "";
  while (true) {
    const vector = new Float32Array(dimension);
    for (let at = 0; at < dimension; at++) vector[at] = normal() * 0.6;
    for (let index = 0; index < directions; index++) {
      const place = normal();
      const start = index * dimension;
      for (let at = 0; at < dimension; at++) {
        vector[at] = (vector[at] ?? 0) + place * (mixture[start + at] ?? 0);
      }
    }
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    const source = Array.from({ length: 60 }, word).join(" ");
    yield { source, vector: vector.map((value) => value / length) };
  }
}

/** Runs of 6 to 20 words from anywhere in a file's paragraphs, embedded by the starter model. */
export async function* embedded(file: string): AsyncGenerator<Made> {
  const squad: { data: { paragraphs: { context: string }[] }[] } = await Bun.file(file).json();
  const paragraphs = squad.data.flatMap((article) => article.paragraphs);
  const words = paragraphs.flatMap(({ context }) => context.split(/\s+/));
  await using folder = await tempDir();
  const options = bareNodeOptions({ env: { PADDOCK_DATA_DIR: folder.path } });
  const { signal } = new AbortController();
  await using model = await openEmbeddingModel(options, signal);
  const random = randomNumbers(7);
  while (true) {
    const texts = Array.from({ length: 256 }, () => {
      const from = Math.floor(random() * (words.length - 20));
      return words.slice(from, from + 6 + Math.floor(random() * 15)).join(" ");
    });
    const embeddings = await model.embedding.engine.embed(texts, { signal });
    for (const [at, { vector }] of embeddings.entries()) yield { source: texts[at] ?? "", vector };
  }
}

export const toPassage = (at: number, { source, vector }: Made): EmbeddedPassage => ({
  ...{ id: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`, source, vector },
  ...{ document: `document ${Math.floor(at / documentSize)}`, heading: "" },
  ...{ position: at % documentSize, hash: "", documentHash: "", parts: documentSize },
});

function normalNumbers(seed: number): () => number {
  const random = randomNumbers(seed);
  return () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
}

/** The tenth best cosine of each question, over all passages. */
export class ExactVectors {
  readonly #questions: Float32Array;
  readonly #best: number[][];
  readonly #rows: Float32Array[] = [];

  constructor(questions: readonly Made[]) {
    this.#questions = new Float32Array(questions.length * dimension);
    for (const [at, { vector }] of questions.entries()) this.#questions.set(vector, at * dimension);
    this.#best = questions.map(() => []);
  }

  add(vector: Float32Array): void {
    this.#rows.push(vector);
    if (this.#rows.length === 8192) this.#compare();
  }

  /** The least score of the best ten of each question. */
  least(): number[] {
    this.#compare();
    return this.#best.map((scores) => scores.at(-1) ?? -1);
  }

  #compare(): void {
    const matrix = new Float32Array(this.#rows.length * dimension);
    for (const [at, row] of this.#rows.splice(0).entries()) matrix.set(row, at * dimension);
    const count = Math.min(10, matrix.length / dimension);
    if (count === 0) return;
    const found = exactSearch(matrix, this.#questions, dimension, count, MetricKind.IP, 0);
    for (const [at, scores] of this.#best.entries()) {
      const near = found.distances.subarray(at * count, (at + 1) * count);
      for (const distance of near) scores.push(1 - distance);
      scores.sort((one, other) => other - one);
      scores.length = Math.min(scores.length, 10);
    }
  }
}

/** BM25 by its definition, of made up words, over all passages. Words of more than a tenth of them are left out, as the store does. */
export class ExactWords {
  readonly #asked: string[][];
  readonly #counts = new Map<string, number>();
  readonly #passages: { id: string; length: number; often: Map<string, number> }[] = [];
  #tokens = 0;
  #total = 0;

  constructor(questions: readonly string[]) {
    this.#asked = questions.map((question) => [...new Set(question.split(" "))]);
    for (const term of this.#asked.flat()) this.#counts.set(term, 0);
  }

  add(id: string, source: string): void {
    const words = source.split(" ");
    const often = new Map<string, number>();
    for (const word of words) {
      if (this.#counts.has(word)) often.set(word, (often.get(word) ?? 0) + 1);
    }
    for (const word of often.keys()) this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1);
    this.#total++;
    this.#tokens += words.length;
    if (often.size > 0) this.#passages.push({ id, length: words.length, often });
  }

  /** Ids of the first ten of each question. */
  best(): string[][] {
    const mean = this.#tokens / this.#total;
    return this.#asked.map((asked) => {
      const terms = asked.flatMap((term) => {
        const count = this.#counts.get(term) ?? 0;
        if (count > Math.max(1000, 0.1 * this.#total)) return [];
        return [{ term, weight: Math.log((this.#total - count + 0.5) / (count + 0.5)) }];
      });
      const scored: { id: string; score: number }[] = [];
      for (const { id, length, often } of this.#passages) {
        let score = 0;
        for (const { term, weight } of terms) {
          const count = often.get(term) ?? 0;
          score += (weight * 2.2 * count) / (count + 1.2 * (0.25 + (0.75 * length) / mean));
        }
        if (score > (scored[9]?.score ?? 0)) {
          scored.push({ id, score });
          scored.sort((one, other) => other.score - one.score || (one.id < other.id ? -1 : 1));
          scored.length = Math.min(scored.length, 10);
        }
      }
      return scored.map(({ id }) => id);
    });
  }
}
