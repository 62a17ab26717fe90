import { describe, expect, test } from "bun:test";
import type { EmbeddingEngine } from "../../../src/core/ports/embedding-engine.ts";
import { keyOf, toBytes, withHandbookVectors } from "../../../src/ingest/handbook-vectors.ts";

const { signal } = new AbortController();

/** An engine whose vectors are of another direction than any stored one. */
function recordingEngine(): { engine: EmbeddingEngine; asked: string[] } {
  const asked: string[] = [];
  const engine: EmbeddingEngine = {
    dimension: 2,
    maxTokens: 8,
    vocabularySize: 10,
    countTokens: async (inputs) => inputs.map(() => 1),
    embed: async (inputs) => {
      asked.push(...inputs.map(String));
      return inputs.map(() => ({ vector: new Float32Array([0, -1]), tokens: 3 }));
    },
  };
  return { engine, asked };
}

const stored = {
  model: "starter",
  vectors: {
    [keyOf("Llamas hum.")]: toBytes(new Float32Array([0.6, 0.8])),
    [keyOf("Roses bloom.")]: toBytes(new Float32Array([-1, 0])),
  },
};

describe("vectors of the handbook that were made beforehand", () => {
  test("are taken for the texts that they are of; the others are computed, in their order", async () => {
    const { engine, asked } = recordingEngine();
    const texts = ["Llamas hum.", "A new text.", "Roses bloom."];
    const found = await withHandbookVectors(engine, "starter", stored).embed(texts, { signal });
    expect(asked).toEqual(["A new text."]);
    const [llamas, other, roses] = found.map(({ vector }) => [...vector]);
    expect(llamas?.[0]).toBeCloseTo(0.6, 2);
    expect(llamas?.[1]).toBeCloseTo(0.8, 2);
    expect([other, roses]).toEqual([
      [0, -1],
      [-1, 0],
    ]);
  });

  test("need no computing where all are there", async () => {
    const { engine, asked } = recordingEngine();
    await withHandbookVectors(engine, "starter", stored).embed(["Llamas hum."], { signal });
    expect(asked).toEqual([]);
  });

  test("are of no use to another model", () => {
    const { engine } = recordingEngine();
    expect(withHandbookVectors(engine, "another", stored)).toBe(engine);
  });
});
