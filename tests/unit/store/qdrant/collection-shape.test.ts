import { describe, expect, test } from "bun:test";
import type { Schemas } from "@qdrant/js-client-rest";
import { shapeOf } from "../../../../src/store/qdrant/collection-shape.ts";

function collection(
  vectors: Schemas["VectorsConfig"],
  metadata?: Record<string, unknown>,
): Schemas["CollectionInfo"] {
  return {
    status: "green",
    optimizer_status: "ok",
    segments_count: 1,
    payload_schema: {},
    config: {
      params: { vectors },
      hnsw_config: { m: 16, ef_construct: 100, full_scan_threshold: 10_000 },
      optimizer_config: {
        deleted_threshold: 0.2,
        vacuum_min_vector_number: 1000,
        default_segment_number: 0,
        flush_interval_sec: 5,
      },
      ...(metadata && { metadata }),
    },
  };
}

describe("a collection's shape", () => {
  test("is read from its one vector, named or not", () => {
    expect(shapeOf("c", collection({ size: 3, distance: "Cosine" }))).toEqual({
      dimension: 3,
      distance: "cosine",
      dense: "",
      hasWords: false,
      hasCurrentWords: false,
      hasDocumentIndex: false,
      embedding: undefined,
    });
    const named = collection({ size: { size: 4, distance: "Euclid" } });
    expect(shapeOf("c", named)).toMatchObject({ dimension: 4, distance: "euclid", dense: "size" });
  });

  test("cannot be told from none, from several, or from lists of vectors", () => {
    const vector = { size: 3, distance: "Dot" } as const;
    const list = { ...vector, multivector_config: { comparator: "max_sim" } } as const;
    expect(() => shapeOf("c", collection({}))).toThrow("'c' cannot be searched: it has no dense");
    expect(() => shapeOf("c", collection({ list }))).toThrow("no dense");
    expect(() => shapeOf("c", collection({ a: vector, b: vector }))).toThrow("several dense");
    expect(shapeOf("c", collection({ vector, list }))).toMatchObject({ dense: "vector" });
  });

  test("has the embedding that its metadata name, where they name one whole", () => {
    const one = { size: 3, distance: "Cosine" } as const;
    const embedding = { model: "m", fingerprint: "f", query_prefix: "q", document_prefix: "" };
    expect(shapeOf("c", collection(one, { embedding })).embedding).toEqual({
      model: "m",
      fingerprint: "f",
      queryPrefix: "q",
      documentPrefix: "",
    });
    for (const foreign of [{}, { embedding: "m" }, { embedding: { ...embedding, model: 1 } }]) {
      expect(shapeOf("c", collection(one, foreign)).embedding).toBeUndefined();
    }
  });
});
