import { describe, expect, test } from "bun:test";
import type { EmbeddingEngine } from "../../../src/core/ports/embedding-engine.ts";
import { QuietTimes } from "../../../src/node/quiet-times.ts";
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

const quietNode = (): QuietTimes => new QuietTimes({ isBusy: () => false });

describe("an engine that yields", () => {
  test("computes a few texts at a time, and gives all in order", async () => {
    const { engine, slices } = recordingEngine();
    const yielding = yieldingEngine(engine, { quiet: quietNode(), texts: 4 });
    const embeddings = await yielding.embed(texts, { signal });
    expect(embeddings.map(({ vector }) => vector[0])).toEqual(texts.map(Number));
    expect(slices.map(({ length }) => length)).toEqual([4, 4, 2]);
  });

  test("serves those who ask at the same time in turn, a slice each", async () => {
    const { engine, slices } = recordingEngine();
    const yielding = yieldingEngine(engine, { quiet: quietNode(), texts: 4 });
    const embed = (inputs: string[]) => yielding.embed(inputs, { signal });
    const stopped = AbortSignal.abort(new Error("stopped"));
    const [, , refused] = await Promise.allSettled([
      embed(texts),
      embed(["20", "21"]),
      yielding.embed(["30"], { signal: stopped }),
      embed(["40"]),
    ]);
    expect(refused.status).toBe("rejected");
    expect(slices).toEqual([
      ["0", "1", "2", "3"],
      ["20", "21"],
      ["40"],
      ["4", "5", "6", "7"],
      ["8", "9"],
    ]);
  });

  test("waits while the node is busy", async () => {
    const { engine, slices } = recordingEngine();
    let busy = true;
    let asked = 0;
    const isBusy = (): boolean => {
      asked++;
      return busy;
    };
    const quiet = new QuietTimes({ isBusy, quietMs: 1 });
    const embedding = yieldingEngine(engine, { quiet, texts: 4 }).embed(texts, { signal });
    await waitFor("it to have looked twice", () => asked >= 2);
    expect(slices).toEqual([]);
    busy = false;
    expect(await embedding).toHaveLength(10);
  });

  test.each([
    ["behind the others after it was asked", false, [false, true, true, true]],
    ["always behind the others where it is told to", true, [true, true, true, true]],
  ])("computes a quarter of the texts after it was asked, %s", async (_, isBackground, behind) => {
    const { engine, slices } = recordingEngine();
    const background: unknown[] = [];
    const recording: EmbeddingEngine = {
      ...engine,
      embed: async (inputs, options) => {
        background.push(options.background);
        return await engine.embed(inputs, options);
      },
    };
    // Busy once the first of them are computed, and only for a moment.
    let wasBusy = false;
    const isBusy = (): boolean => {
      if (wasBusy || slices.length === 0) return false;
      wasBusy = true;
      return true;
    };
    const quiet = new QuietTimes({ isBusy, quietMs: 1 });
    const many = Array.from({ length: 28 }, (_text, at) => `${at}`);
    await yieldingEngine(recording, { quiet, texts: 16, isBackground }).embed(many, { signal });
    expect(slices.map(({ length }) => length)).toEqual([16, 4, 4, 4]);
    expect(background).toEqual(behind);
  });

  test("gets on slowly where the node is always busy", async () => {
    const { engine } = recordingEngine();
    const quiet = new QuietTimes({ isBusy: () => true, longestPauseMs: 1 });
    const always = yieldingEngine(engine, { quiet, texts: 4 });
    expect(await always.embed(texts, { signal })).toHaveLength(10);
  });

  test("gives up waiting when it is told to stop", async () => {
    const { engine, slices } = recordingEngine();
    const stop = new AbortController();
    const quiet = new QuietTimes({ isBusy: () => true });
    const waits = yieldingEngine(engine, { quiet, texts: 4 }).embed(texts, {
      signal: stop.signal,
    });
    stop.abort();
    expect(await rejectionOf(waits)).toMatchObject({ name: "AbortError" });
    expect(slices).toEqual([]);
  });
});
