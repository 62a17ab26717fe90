/** A usearch index. Every call blocks, some for longer the larger the index is, so it runs in a thread. */
import { Index, MetricKind, ScalarKind } from "usearch";

export interface IndexOptions {
  dimension: number;
  /** Nodes that a search visits: more give better recall, and take longer. */
  expansion: number;
}

export interface Neighbours {
  /** Nearest first. */
  keys: readonly number[];
  /** The last key that was added. */
  lastKey: number;
}

export class UsearchIndex implements Disposable {
  readonly #index: Index;
  #lastKey = 0;

  constructor({ dimension, expansion }: IndexOptions) {
    this.#index = new Index({
      dimensions: dimension,
      // For unit vectors, the inner product is the cosine, and the fastest to compute.
      metric: MetricKind.IP,
      // 8 bits per number are enough for candidates; the rows' own vectors decide between them.
      quantization: ScalarKind.I8,
      connectivity: 32,
      expansion_add: 128,
      expansion_search: expansion,
      multi: false,
    });
  }

  /** Keys ascend, and are greater than all that were added before. */
  add(keys: BigUint64Array, vectors: Float32Array): void {
    this.#index.add(keys, vectors, 1);
    this.#lastKey = Number(keys.at(-1) ?? this.#lastKey);
  }

  remove(keys: BigUint64Array): void {
    this.#index.remove(keys);
  }

  search(vector: Float32Array, count: number): Neighbours {
    const most = Math.min(count, this.#index.size());
    const keys = most === 0 ? [] : this.#index.search(vector, most, 1).keys;
    return { keys: Array.from(keys, Number), lastKey: this.#lastKey };
  }

  save(path: string): void {
    this.#index.save(path);
  }

  /** Loads a saved index with this last key; only for a new index. */
  load(path: string, lastKey: number): void {
    const dimension = this.#index.dimensions();
    this.#index.load(path);
    if (this.#index.dimensions() !== dimension) {
      throw new Error("it holds vectors of another dimension");
    }
    this.#lastKey = lastKey;
  }

  [Symbol.dispose](): void {}
}
