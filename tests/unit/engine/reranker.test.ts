import { expect, test } from "bun:test";
import { partsOf } from "../../../src/engine/reranker.ts";

test("a passage that fits is one part, also an empty one", () => {
  expect(partsOf([1, 2, 3], 3)).toEqual([[1, 2, 3]]);
  expect(partsOf([], 3)).toEqual([[]]);
});

test("parts of a longer one overlap by half, and the last is as long as the others", () => {
  expect(partsOf([1, 2, 3, 4, 5, 6, 7], 4)).toEqual([
    [1, 2, 3, 4],
    [3, 4, 5, 6],
    [4, 5, 6, 7],
  ]);
});

test("where there is hardly room, every token is still read", () => {
  expect(partsOf([1, 2, 3], 1)).toEqual([[1], [2], [3]]);
  expect(partsOf([1, 2], 0)).toEqual([[1], [2]]);
});
