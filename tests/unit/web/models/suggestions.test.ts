import { expect, test } from "bun:test";
import { nameOf } from "../../../../src/models/starter-models.ts";
import { fitting, suggestedName, suggestions } from "../../../../src/web/models/suggestions.ts";

test("suggestions are known by the names that the node gives them", () => {
  expect(suggestions.map(suggestedName)).toEqual(suggestions.map(({ source }) => nameOf(source)));
});

test("suggestions need more memory than their files have, and come by size", () => {
  expect(suggestions.filter(({ size, memory }) => memory <= size)).toEqual([]);
  expect(suggestions.toSorted((a, b) => a.memory - b.memory)).toEqual([...suggestions]);
});

test.each([
  [{ total: 1e9, free: 1e9 }, 0],
  [{ total: 6e9, free: 0 }, 3],
  [{ total: 64e9, free: 0 }, suggestions.length],
  // What models may use counts, not what the machine has.
  [{ total: 64e9, free: 0, models: 3e9 }, 1],
])("suggestions fit the machine: %j", (memory, count) => {
  expect(fitting(memory)).toEqual(suggestions.slice(0, count));
});
