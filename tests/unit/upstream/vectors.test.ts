import { describe, expect, test } from "bun:test";
import { readVectors } from "../../../src/upstream/vectors.ts";

describe("vectors", () => {
  const base64 = (...numbers: number[]) =>
    Buffer.from(Float32Array.from(numbers).buffer).toString("base64");

  test("are read from numbers and from bytes, in the order of the texts", () => {
    const data = [
      { index: 1, embedding: base64(3, 4) },
      { index: 0, embedding: [1, 2] },
    ];
    expect(readVectors({ data }, 2)).toEqual([Float32Array.of(1, 2), Float32Array.of(3, 4)]);
  });

  test.each([
    ["too few", [{ embedding: [1] }]],
    ["too many", [{ embedding: [1] }, { embedding: [1] }, { embedding: [1] }]],
    ["unlike", [{ embedding: [1] }, { embedding: [1, 2] }]],
    ["not numbers", [{ embedding: ["1"] }, { embedding: [1] }]],
    ["not finite", [{ embedding: base64(Number.NaN) }, { embedding: [1] }]],
    ["empty", [{ embedding: [] }, { embedding: [] }]],
    ["cut", [{ embedding: "AAA=" }, { embedding: [1] }]],
    ["none", undefined],
  ])("that are %s are none", (_, data) => {
    expect(readVectors({ data }, 2)).toBeUndefined();
  });
});
