/**
 * The worker thread of a usearch index. Every usearch call blocks, some for longer the larger the
 * index is; here they do not block the event loop.
 */
import { workerData } from "node:worker_threads";
import { Index, MetricKind, ScalarKind } from "usearch";
import { answerCalls } from "../thread-calls.ts";

export interface IndexOptions {
  dimension: number;
  /** Nodes that a search visits: more give better recall, and take longer. */
  expansion: number;
}

export type IndexCall =
  /** Keys ascend, and are greater than all that were added before. */
  | { type: "add"; keys: BigUint64Array; vectors: Float32Array }
  | { type: "remove"; keys: BigUint64Array }
  | { type: "search"; vector: Float32Array; count: number }
  | { type: "save"; path: string }
  | { type: "load"; path: string; lastKey: number }
  | { type: "close" };

/** The state of the index after a call. */
export interface IndexState {
  /** Results of a search, nearest first; empty for other calls. */
  keys: readonly number[];
  lastKey: number;
}

const { dimension, expansion }: IndexOptions = workerData;
const index = new Index({
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
let lastKey = 0;

answerCalls<IndexCall>(
  (call): IndexState => ({ keys: perform(call), lastKey }),
  ({ type }) => type === "close",
);

function perform(call: IndexCall): number[] {
  switch (call.type) {
    case "add":
      index.add(call.keys, call.vectors, 1);
      lastKey = Number(call.keys.at(-1) ?? lastKey);
      return [];
    case "remove":
      index.remove(call.keys);
      return [];
    case "search":
      return search(call.vector, call.count);
    case "save":
      index.save(call.path);
      return [];
    case "load":
      index.load(call.path);
      if (index.dimensions() !== dimension)
        throw new Error("it holds vectors of another dimension");
      lastKey = call.lastKey;
      return [];
    case "close":
      return [];
  }
}

function search(vector: Float32Array, count: number): number[] {
  const size = index.size();
  if (size === 0) return [];
  return Array.from(index.search(vector, Math.min(count, size), 1).keys, Number);
}
