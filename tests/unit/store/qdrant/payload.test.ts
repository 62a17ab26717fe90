import { describe, expect, test } from "bun:test";
import type { CollectionShape } from "../../../../src/store/qdrant/collection-shape.ts";
import { passageOf, pointId, pointOf, vectorOf } from "../../../../src/store/qdrant/payload.ts";
import { passage } from "../../../support/passages.ts";

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
    expect(vectorOf({ id: 7, vector: [1, 2] }, own)).toEqual(Float32Array.of(1, 2));
    expect(vectorOf({ id: 7, vector: { "": [1, 2] } }, own)).toEqual(Float32Array.of(1, 2));
    expect(vectorOf({ id: 7, vector: { text: [1, 2] } }, foreign)).toEqual(Float32Array.of(1, 2));
    for (const vector of [undefined, null, {}, { text: [[1]] }, { other: [1] }]) {
      expect(vectorOf({ id: 7, vector }, foreign)).toBeUndefined();
    }
  });
});

test("an id is a UUID or a whole number", () => {
  const id = "0b6f2a52-1111-4222-8333-abcdefabcdef";
  expect(pointId(id)).toBe(id);
  expect(pointId("12")).toBe(12);
  for (const unfit of ["", "a", "-1", "1.5", "99999999999999999999", `${id}0`]) {
    expect(() => pointId(unfit)).toThrow("must be a UUID");
  }
});
