import { describe, expect, test } from "bun:test";
import type { Schemas } from "@qdrant/js-client-rest";
import {
  batchesOf,
  type CollectionShape,
  fullScore,
  passageOf,
  pointId,
  pointOf,
  questionTerms,
  shapeOf,
  shareOf,
  vectorOf,
  wordWeights,
} from "../../../../src/store/qdrant/points.ts";
import { passage } from "../../../support/passages.ts";

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

const own: CollectionShape = {
  dimension: 3,
  distance: "cosine",
  dense: "",
  hasWords: true,
  hasCurrentWords: true,
  hasDocumentIndex: true,
  embedding: undefined,
};
const foreign: CollectionShape = { ...own, dense: "text", hasWords: false };

describe("a passage as a point", () => {
  const { vector, ...stored } = passage(1, [1, 0, 0]);

  test("holds what a passage is, and its words", () => {
    const point = pointOf({ ...stored, vector }, own);
    expect(point).toEqual({
      id: stored.id,
      vector: {
        "": [1, 0, 0],
        words: { indices: expect.any(Array), values: expect.any(Array) },
      },
      payload: {
        source: "Passage 1",
        document: "a.md",
        heading: "Heading",
        position: 1,
        hash: "hash-1",
        document_hash: "version-1",
        parts: 1,
      },
    });
    expect(passageOf({ id: stored.id, payload: { ...point.payload } })).toEqual(stored);
  });

  test("has no words where the collection has none", () => {
    expect(pointOf({ ...stored, vector }, foreign).vector).toEqual({ text: [1, 0, 0] });
  });
});

describe("a foreign point", () => {
  const nothing = { document: "", heading: "", position: 0, hash: "", documentHash: "", parts: 0 };

  test("is a passage where it has a text", () => {
    expect(passageOf({ id: 7, payload: { source: "A" } })).toEqual({
      id: "7",
      source: "A",
      ...nothing,
    });
    const odd = { source: "A", document: 5, heading: null, position: "1", hash: {}, parts: [] };
    expect(passageOf({ id: 7, payload: odd })).toEqual({ id: "7", source: "A", ...nothing });
    for (const position of [-1, 0.5, 1e300]) {
      const far = { source: "A", position, parts: position };
      expect(passageOf({ id: 7, payload: far })).toEqual({ id: "7", source: "A", ...nothing });
    }
  });

  test("is none without", () => {
    expect(passageOf({ id: 7 })).toBeUndefined();
    expect(passageOf({ id: 7, payload: null })).toBeUndefined();
    expect(passageOf({ id: 7, payload: { source: 1 } })).toBeUndefined();
  });

  test("has its vector by its name, or without one", () => {
    expect(vectorOf({ id: 7, vector: [1, 2, 3] }, own)).toEqual(Float32Array.of(1, 2, 3));
    expect(vectorOf({ id: 7, vector: { "": [1, 2, 3] } }, own)).toEqual(Float32Array.of(1, 2, 3));
    expect(vectorOf({ id: 7, vector: { text: [1, 2, 3] } }, foreign)).toEqual(
      Float32Array.of(1, 2, 3),
    );
    for (const vector of [
      undefined,
      null,
      {},
      { text: [[1], [2], [3]] },
      { text: [1, 2] },
      { other: [1, 2, 3] },
    ]) {
      expect(vectorOf({ id: 7, vector }, foreign)).toBeUndefined();
    }
  });
});

test("an id is a UUID or a whole number", () => {
  const id = "0b6f2a52-1111-4222-8333-abcdefabcdef";
  expect(pointId(id)).toBe(id);
  expect(pointId("12")).toBe(12);
  expect(JSON.stringify(pointId("18446744073709551615"))).toBe("18446744073709551615");
  for (const unfit of ["", "a", "-1", "1.5", "18446744073709551616", `${id}0`]) {
    expect(() => pointId(unfit)).toThrow("must be a UUID");
  }
});

describe("a passage's words as a sparse vector", () => {
  test("has each word once, repeated ones weighing more, but less each time", () => {
    const { indices, values } = wordWeights("llama llama llama horse horse dog");
    expect(new Set(indices).size).toBe(3);
    const [llama = 0, horse = 0, dog = 0] = values;
    expect(llama).toBeGreaterThan(horse);
    expect(horse).toBeGreaterThan(dog);
    expect(llama - horse).toBeLessThan(horse - dog);
    expect(llama).toBeLessThan(2.2);
  });

  test("weighs a word of a passage of average length as BM25 does, once there: 1", () => {
    const words = Array.from({ length: 150 }, (_, at) => `w${at}`).join(" ");
    expect(wordWeights(words).values[0]).toBeCloseTo(1, 10);
    expect(wordWeights(`${words} ${words}x`).values[149]).toBeLessThan(1);
  });

  test("has the indices that a question asks for", () => {
    expect(questionTerms("The Llamas")).toEqual(wordWeights("the llama").indices);
    for (const index of questionTerms("some words more")) {
      expect(Number.isInteger(index) && index >= 0 && index < 2 ** 32).toBe(true);
    }
  });

  test("is empty without words", () => {
    expect(wordWeights("?!")).toEqual({ indices: [], values: [] });
  });
});

describe("a question", () => {
  test("asks for each word once, and for the first 32", () => {
    expect(questionTerms("llama Llama llamas")).toHaveLength(1);
    const long = Array.from({ length: 100 }, (_, at) => `w${at}`).join(" ");
    expect(questionTerms(long)).toEqual(questionTerms(long.slice(0, long.indexOf(" w32"))));
    expect(questionTerms(long)).toHaveLength(32);
  });

  test("counts a word that no passage has as much as the rarest that one has", () => {
    expect(fullScore([3, 1], 10)).toBe(4);
    expect(fullScore([3, 1, 0], 10)).toBe(7);
  });

  test("is not had in full by a passage that has its words, where all are common", () => {
    expect(fullScore([0.1, 0.1], 1000)).toBeCloseTo(Math.log(1 + 999.5 / 1.5), 5);
  });

  test("is had by a passage to a share between nothing and all", () => {
    expect(shareOf(2, 4)).toBe(0.5);
    expect(shareOf(4.1, 4)).toBe(1);
    expect(shareOf(1, 0)).toBe(0);
  });
});

test("passages are sent some at a time, in order, each once", () => {
  const many = Array.from({ length: 600 }, (_, at) => passage(at, [1, 0, 0]));
  const batches = [...batchesOf(many)];
  expect(batches.map(({ length }) => length)).toEqual([256, 256, 88]);
  expect(batches.flat()).toEqual(many);
  expect([...batchesOf([])]).toEqual([]);
});

test("large passages are sent fewer at a time, at least one", () => {
  const large = (at: number) => passage(at, [1], { source: "x".repeat(200_000) });
  const huge = passage(0, [1], { source: "x".repeat(2_000_000) });
  const sizes = [...batchesOf([large(1), large(2), large(3), huge, huge])].map(
    ({ length }) => length,
  );
  expect(sizes).toEqual([2, 1, 1, 1]);
});
