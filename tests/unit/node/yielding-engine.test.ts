import { describe, expect, test } from "bun:test";
import type { EmbeddingEngine } from "../../../src/core/ports/embedding-engine.ts";
import { yieldingEngine } from "../../../src/node/yielding-engine.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { waitFor } from "../../support/wait-for.ts";

/** An engine whose vectors say which text they are of. */
function recordingEngine(): { engine: EmbeddingEngine; slices: string[][] } {
  const slices: string[][] = [];
  const engine: EmbeddingEngine = {
    dimension: 1,
    maxTokens: 8,
    vocabularySize: 10,
    countTokens: async (inputs) => inputs.map(() => 1),
    embed: async (inputs) => {
      slices.push(inputs.map(String));
      return inputs.map((input) => ({ vector: new Float32Array([Number(input)]), tokens: 1 }));
    },
  };
  return { engine, slices };
}

const texts = Array.from({ length: 10 }, (_, at) => `${at}`);
const { signal } = new AbortController();

describe("an engine that yields", () => {
  test("computes a few texts at a time, and gives all in order", async () => {
    const { engine, slices } = recordingEngine();
    const embeddings = await yieldingEngine(engine, { isBusy: () => false, threads: 2 }).embed(
      texts,
      {
        signal,
      },
    );
    expect(embeddings.map(({ vector }) => vector[0])).toEqual(texts.map(Number));
    expect(slices.map(({ length }) => length)).toEqual([4, 4, 2]);
  });

  test("waits while the node is busy", async () => {
    const { engine, slices } = recordingEngine();
    let busy = true;
    let asked = 0;
    const isBusy = (): boolean => {
      asked++;
      return busy;
    };
    const embedding = yieldingEngine(engine, { isBusy, threads: 2 }).embed(texts, { signal });
    await waitFor("it to have looked twice", () => asked >= 2);
    expect(slices).toEqual([]);
    busy = false;
    expect(await embedding).toHaveLength(10);
  });

  test("computes one text at a time while it is asked for something now and then", async () => {
    const { engine, slices } = recordingEngine();
    let looks = 0;
    // Busy at the second look: after the first few texts.
    const isBusy = (): boolean => ++looks === 2;
    const embeddings = await yieldingEngine(engine, { isBusy, threads: 2 }).embed(texts, {
      signal,
    });
    expect(embeddings.map(({ vector }) => vector[0])).toEqual(texts.map(Number));
    expect(slices.map(({ length }) => length)).toEqual([4, 1, 1, 1, 1, 1, 1]);
  });

  test("computes as many texts as there are threads, and while it is asked a quarter of them behind the others", async () => {
    const { engine, slices } = recordingEngine();
    const background: unknown[] = [];
    const recording: EmbeddingEngine = {
      ...engine,
      embed: async (inputs, options) => {
        background.push(options.background);
        return await engine.embed(inputs, options);
      },
    };
    let looks = 0;
    const isBusy = (): boolean => ++looks === 2;
    const many = Array.from({ length: 28 }, (_, at) => `${at}`);
    await yieldingEngine(recording, { isBusy, threads: 16 }).embed(many, { signal });
    expect(slices.map(({ length }) => length)).toEqual([16, 4, 4, 4]);
    expect(background).toEqual([false, true, true, true]);
  });

  test("gets on slowly where the node is always busy", async () => {
    const { engine } = recordingEngine();
    const always = yieldingEngine(engine, { isBusy: () => true, threads: 2, longestWaitMs: 1 });
    expect(await always.embed(texts, { signal })).toHaveLength(10);
  });

  test("gives up waiting when it is told to stop", async () => {
    const { engine, slices } = recordingEngine();
    const stop = new AbortController();
    const waits = yieldingEngine(engine, { isBusy: () => true, threads: 2 }).embed(texts, {
      signal: stop.signal,
    });
    stop.abort();
    expect(await rejectionOf(waits)).toMatchObject({ name: "AbortError" });
    expect(slices).toEqual([]);
  });
});
