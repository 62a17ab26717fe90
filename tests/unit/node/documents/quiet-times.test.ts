import { describe, expect, test } from "bun:test";
import type { EmbeddingEngine } from "../../../../src/core/ports/embedding-engine.ts";
import {
  type QuietOptions,
  QuietTimes,
  yieldingEngine,
} from "../../../../src/node/documents/quiet-times.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { waitFor } from "../../../support/wait-for.ts";

const { signal } = new AbortController();

/** A node that is busy when it is told to be, and how often that was asked. */
function node(isBusy = false) {
  const state = { isBusy, looks: 0 };
  const quiet = (more: Partial<Omit<QuietOptions, "isBusy">> = {}): QuietTimes =>
    new QuietTimes({
      isBusy: () => {
        state.looks++;
        return state.isBusy;
      },
      ...more,
    });
  return { state, quiet };
}

describe("work that can wait", () => {
  test("goes on at once where nobody asks", async () => {
    await node().quiet().wait(signal);
  });

  test("waits until a request is answered, and a while longer", async () => {
    const { state, quiet } = node(true);
    const stop = new AbortController();
    const ended: number[] = [];
    const [soon, late] = [1, 1e9].map((quietMs) =>
      quiet({ quietMs, longestPauseMs: 1e9 })
        .wait(stop.signal)
        .then(() => void ended.push(quietMs)),
    );
    await waitFor("some looks", () => state.looks > 4);
    expect(ended).toEqual([]);
    state.isBusy = false;
    await soon;
    const { looks } = state;
    await waitFor("some more looks", () => state.looks > looks + 2);
    expect(ended).toEqual([1]);
    stop.abort();
    await rejectionOf(late ?? Promise.resolve());
  });

  test("is not held up for ever on a node that is always busy", async () => {
    await node(true).quiet({ longestPauseMs: 20 }).wait(signal);
  });

  test("that nobody may wait for is begun between two requests, also on a busy node", async () => {
    const { state, quiet } = node(true);
    let isOver = false;
    const waiting = quiet({ quietMs: 1e9, longestPauseMs: 20 })
      .waitForMoment(signal)
      .then(() => {
        isOver = true;
      });
    await node(true).quiet({ longestPauseMs: 60 }).wait(signal);
    await waitFor("some looks", () => state.looks > 4);
    expect(isOver).toBe(false);
    state.isBusy = false;
    await waiting;
  });

  test("is told to pause and to go on, until nobody watches any more", async () => {
    const { state, quiet } = node();
    const changes: boolean[] = [];
    const watching = quiet({ quietMs: 1 }).watch((goesOn) => changes.push(goesOn));
    await waitFor("some looks", () => state.looks > 2);
    expect(changes).toEqual([]);
    state.isBusy = true;
    await waitFor("the pause", () => changes.length === 1);
    state.isBusy = false;
    await waitFor("the end of it", () => changes.length === 2);
    expect(changes).toEqual([false, true]);
    watching[Symbol.dispose]();
    const { looks } = state;
    await new Promise(setImmediate);
    expect(state.looks).toBe(looks);
  });

  test("has a turn after the longest pause, and pauses again", async () => {
    const { quiet } = node(true);
    const changes: boolean[] = [];
    using _ = quiet({ longestPauseMs: 20 }).watch((goesOn) => changes.push(goesOn));
    await waitFor("a turn and a pause", () => changes.length >= 3);
    expect(changes.slice(0, 3)).toEqual([false, true, false]);
  });
});

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

  test("computes more than one slice after a pause, where the node is always busy", async () => {
    const { engine, slices } = recordingEngine();
    const { state, quiet } = node(true);
    const looks: number[] = [];
    const recording: EmbeddingEngine = {
      ...engine,
      embed: async (inputs, options) => {
        looks.push(state.looks);
        return await engine.embed(inputs, options);
      },
    };
    const times = quiet({ longestPauseMs: 100, turnMs: 1e9 });
    await yieldingEngine(recording, { quiet: times, texts: 4 }).embed(texts, { signal });
    expect(slices).toHaveLength(10);
    const between = looks.slice(1).map((now, at) => now - (looks[at] ?? 0));
    expect(between).toEqual(Array.from({ length: 9 }, () => 1));
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
