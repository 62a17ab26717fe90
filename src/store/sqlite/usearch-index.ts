/** What usearch does for a collection: a graph of a segment's vectors, and the comparison with every vector. Each call blocks, so that only threads make them. */
import { exactSearch, Index, type Matches, MetricKind, ScalarKind } from "usearch";

export interface Neighbour {
  place: number;
  /** Smaller is nearer. */
  distance: number;
  /** A graph rounds vectors in a way of its own: its distances compare with those of graphs alone. */
  by: "graph" | "scan";
}

/** Vectors that a search of a graph visits at least: more give better recall, and take longer. */
const visited = 96;

export class VectorGraph {
  readonly #index: Index;
  #added = 0;

  constructor(dimension: number) {
    this.#index = new Index({
      dimensions: dimension,
      // For unit vectors, the inner product is the cosine, and the fastest to compute.
      metric: MetricKind.IP,
      quantization: ScalarKind.I8,
      connectivity: 16,
      expansion_add: 56,
      expansion_search: visited,
      multi: false,
    });
  }

  /** A saved graph, mapped into memory. */
  static view(path: string, dimension: number): VectorGraph {
    const graph = new VectorGraph(dimension);
    graph.#index.view(path);
    if (graph.#index.dimensions() !== dimension) {
      throw new Error("it holds vectors of another dimension");
    }
    return graph;
  }

  /** Adds the vectors of the next places. */
  add(vectors: Int8Array, { threads, most }: { threads: number; most: number }): void {
    const count = vectors.length / this.#index.dimensions();
    const places = BigUint64Array.from({ length: count }, (_, at) => BigInt(this.#added + at));
    // usearch sets aside as many places for threads as the call has that makes it grow.
    const isGrowing = this.#index.size() + count >= this.#index.capacity();
    this.#index.add(places, vectors, isGrowing ? most : threads);
    this.#added += count;
  }

  /** The approximately nearest, at least as many as wanted, nearest first. */
  nearest(question: Int8Array, count: number): Neighbour[] {
    const most = Math.min(Math.max(count, visited), this.#index.size());
    return most === 0 ? [] : neighbours("graph", this.#index.search(question, most, 1));
  }

  save(path: string): void {
    this.#index.save(path);
  }
}

const neighbours = (
  by: Neighbour["by"],
  { keys, distances }: Pick<Matches, "keys" | "distances">,
): Neighbour[] =>
  Array.from(keys, (place, at) => ({ place: Number(place), distance: distances[at] ?? 0, by }));

/** Compares every vector of a matrix, which must begin where its buffer does: usearch reads from there. */
export function exactScan(matrix: Int8Array, question: Int8Array, count: number): Neighbour[] {
  const rows = matrix.length / question.length;
  const most = Math.min(count, rows);
  if (most === 0) return [];
  const { length } = question;
  return neighbours("scan", exactSearch(matrix, question, length, most, MetricKind.IP, 1));
}
