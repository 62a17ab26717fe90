import { describe, expect, test } from "bun:test";
import { estimateMemory } from "../../../../src/engine/machine/model-memory.ts";
import { largeChat, smallEmbedding } from "../../../support/model-facts.ts";

describe("the memory that a model takes", () => {
  test("is its weights, a cache for each answer, and room to calculate in", () => {
    expect(estimateMemory(largeChat, { contextSize: 8192, parallel: 4 })).toEqual({
      weights: 4_920_734_272,
      cache: 131_072 * 8192 * 4,
      working: 396_886_016,
      total: 4_920_734_272 + 4_294_967_296 + 396_886_016,
    });
  });

  test("has no cache for a model that reads a text at once, and room for each of its contexts", () => {
    const one = estimateMemory(smallEmbedding, { contextSize: 512, parallel: 1 });
    const two = estimateMemory(smallEmbedding, { contextSize: 512, parallel: 2 });
    expect([one.cache, two.cache]).toEqual([0, 0]);
    expect(two.working).toBe(2 * one.working);
  });

  test("has no more room for a batch than the context can fill", () => {
    const demand = { contextSize: 128, parallel: 1 };
    expect(estimateMemory(largeChat, { ...demand, batchSize: 2048 })).toEqual(
      estimateMemory(largeChat, { ...demand, batchSize: 128 }),
    );
  });
});
