import { describe, expect, spyOn, test } from "bun:test";
import { StepWatch } from "../../../../src/engine/machine/steps.ts";
import type { ScheduledPrompt } from "../../../../src/engine/scheduling/answer.ts";
import { KvCache } from "../../../../src/engine/scheduling/kv-cache.ts";
import { Scheduler } from "../../../../src/engine/scheduling/scheduler.ts";
import { promptOf, ScriptedAnswer, ScriptedContext } from "../../../support/scripted-context.ts";
import { waitFor } from "../../../support/wait-for.ts";

function setUp({ sequences = 4, batchSize = 64 } = {}) {
  const context = new ScriptedContext({ sequences, batchSize });
  const cache = new KvCache(context);
  const scheduler = new Scheduler(context, cache, new StepWatch());
  const start = (
    sequence: number,
    answer: ScriptedAnswer,
    more: Partial<ScheduledPrompt> = {},
  ): (() => void) => {
    const own = cache.sequences[sequence];
    if (own === undefined) throw new Error("no such sequence");
    return scheduler.start({
      sequence: own,
      prompt: promptOf(10, 1000 * sequence),
      fresh: false,
      source: undefined,
      evictionTarget: () => undefined,
      scope: undefined,
      answer,
      ...more,
    });
  };
  const done = (...answers: ScriptedAnswer[]): Promise<void> =>
    waitFor("all answers", () => answers.every(({ complete }) => complete));
  return { context, cache, scheduler, start, done };
}

function never(): never {
  throw new Error("no token");
}

describe("the scheduler", () => {
  test("has every answer in every step, in the order of the sequences", async () => {
    const { context, start, done } = setUp();
    const answers = [3, 0, 2, 1].map((sequence) => {
      const answer = new ScriptedAnswer(5);
      start(sequence, answer);
      return answer;
    });
    await done(...answers);
    const all = (count: number): [number, number][] =>
      [0, 1, 2, 3].map((sequence) => [sequence, count]);
    expect(context.shape).toEqual([all(10), all(1), all(1), all(1), all(1)]);
  });

  test("takes a new request in at the next step, and its answer with those that run", async () => {
    const { context, start, done } = setUp();
    const [first, late] = [new ScriptedAnswer(20), new ScriptedAnswer(2)];
    start(0, first);
    first.onAccept = () => {
      if (first.accepted === 3) start(1, late);
    };
    await done(first, late);
    expect(context.shape.slice(2, 5)).toEqual([
      [[0, 1]],
      [[1, 10]],
      [
        [0, 1],
        [1, 1],
      ],
    ]);
  });

  test("computes prompts that come together in one pass where that is wanted, and waits for no more once they fill it", async () => {
    const { context, start, done } = setUp();
    context.gatherMs = Number.POSITIVE_INFINITY;
    const half = context.batchSize / 2;
    const [first, second] = [new ScriptedAnswer(2), new ScriptedAnswer(2)];
    start(0, first, { prompt: promptOf(half) });
    // Later, but before any timer.
    for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    start(1, second, { prompt: promptOf(half) });
    await done(first, second);
    expect(context.shape[0]).toEqual([
      [0, half],
      [1, half],
    ]);
  });

  test("clears a used sequence between two steps, while others are in the midst of their answers", async () => {
    const { context, start, done } = setUp();
    const used = new ScriptedAnswer(3);
    start(1, used);
    await done(used);
    const [running, late] = [new ScriptedAnswer(20), new ScriptedAnswer(1)];
    start(0, running);
    running.onAccept = () => {
      if (running.accepted === 3) start(1, late, { prompt: promptOf(10, 5000) });
    };
    let runningWhenLateCame = 0;
    late.onAccept = () => {
      runningWhenLateCame = running.accepted;
    };
    await done(running, late);
    expect(context.cells).toContain("truncate 1 to 0");
    expect(runningWhenLateCame).toBeLessThanOrEqual(5);
  });

  test.each<[string, number[], [number, number][][]]>([
    [
      "in equal parts",
      [30, 20],
      [
        [
          [0, 20],
          [1, 20],
        ],
        [[0, 10]],
      ],
    ],
    ["not, if they do not fit: the first comes first", [50, 50], [[[0, 50]], [[1, 50]]]],
    [
      "as many as fit",
      [30, 30, 30],
      [
        [
          [0, 30],
          [1, 30],
        ],
        [[2, 30]],
      ],
    ],
  ])("lets prompts share a batch %s", async (_, lengths, expected) => {
    const { context, start, done } = setUp({ batchSize: 64 });
    const answers = lengths.map((length, at) => {
      const answer = new ScriptedAnswer(1);
      start(at, answer, { prompt: promptOf(length, 1000 * at) });
      return answer;
    });
    await done(...answers);
    expect(context.shape).toEqual(expected);
  });

  test("leaves out an answer whose reader is behind, and goes on with it when it is woken", async () => {
    const { context, scheduler, start, done } = setUp();
    const [stalled, other] = [new ScriptedAnswer(6), new ScriptedAnswer(6)];
    stalled.onAccept = () => {
      stalled.paused = stalled.accepted === 2;
    };
    start(0, stalled);
    start(1, other);
    await done(other);
    expect(stalled.accepted).toBe(2);
    expect(context.shape.slice(2)).toEqual(Array.from({ length: 4 }, () => [[1, 1]]));
    stalled.paused = false;
    scheduler.wake();
    await done(stalled);
  });

  test("has no threads tried in a step with an answer that has a seed", async () => {
    const { context, start, done } = setUp();
    const [plain, seeded] = [new ScriptedAnswer(4), new ScriptedAnswer(2)];
    start(0, plain);
    await done(plain);
    expect(context.steady).toEqual([false, false, false, false]);
    start(1, seeded, { fresh: true });
    await done(seeded);
    expect(context.steady.slice(4)).toEqual([true, true]);
  });

  test("drops who left before the next step", async () => {
    const { context, start, done } = setUp();
    const [leaving, other] = [new ScriptedAnswer(50), new ScriptedAnswer(8)];
    const stop = start(0, leaving);
    start(1, other);
    other.onAccept = () => {
      if (other.accepted === 3) stop();
    };
    await done(other);
    expect(leaving.accepted).toBeLessThanOrEqual(3);
    expect(context.shape.slice(3).flat()).toEqual(Array.from({ length: 5 }, () => [1, 1]));
  });

  test("keeps what the sequence holds of the prompt, but for its last token", async () => {
    const { context, start, done } = setUp();
    const first = new ScriptedAnswer(1);
    start(0, first, { prompt: promptOf(20) });
    await done(first);
    const second = new ScriptedAnswer(1);
    start(0, second, { prompt: promptOf(20) });
    await done(second);
    expect([first.cachedTokens, second.cachedTokens]).toEqual([0, 19]);
    expect(context.shape.at(-1)).toEqual([[0, 1]]);
  });

  test("uses nothing that a sequence holds of another scope", async () => {
    const { cache, start, done } = setUp();
    const prompt = promptOf(20);
    const first = new ScriptedAnswer(1);
    start(0, first, { prompt, scope: "ada" });
    await done(first);
    const [own, source] = [new ScriptedAnswer(1), new ScriptedAnswer(1)];
    start(0, own, { prompt, scope: "bob" });
    await done(own);
    const held = cache.sequences[0];
    if (held === undefined) throw new Error("no sequence");
    const offer = { sequence: held, shared: 20, pending: () => false };
    start(1, source, { prompt, scope: "ada", source: offer });
    await done(source);
    expect([own.cachedTokens, source.cachedTokens]).toEqual([0, 0]);
  });

  test("keeps what a prompt shares with a sequence whose old conversation moves elsewhere", async () => {
    const { cache, start, done } = setUp();
    const system = promptOf(50);
    const first = new ScriptedAnswer(1);
    start(0, first, { prompt: [...system, ...promptOf(50, 5000)] });
    await done(first);
    const second = new ScriptedAnswer(1);
    const place = cache.sequences[3];
    start(0, second, { prompt: [...system, ...promptOf(50, 7000)], evictionTarget: () => place });
    await done(second);
    expect(second.cachedTokens).toBe(50);
    expect(place?.tokens).toEqual([...system, ...promptOf(50, 5000)]);
  });

  test("lets a short prompt go before a long one that came first", async () => {
    const { context, start, done } = setUp({ batchSize: 64 });
    const [long, short] = [new ScriptedAnswer(1), new ScriptedAnswer(1)];
    start(0, long, { prompt: promptOf(500) });
    start(1, short, { prompt: promptOf(10, 9000) });
    let longWhenShortCame = Number.NaN;
    short.onAccept = () => {
      longWhenShortCame = long.accepted;
    };
    await done(long, short);
    expect(context.shape[0]).toEqual([
      [0, 10],
      [1, 10],
    ]);
    expect(longWhenShortCame).toBe(0);
  });

  test("fails an answer that has nothing to evaluate, instead of keeping its slot for ever", async () => {
    const { start } = setUp();
    const answer = new ScriptedAnswer(1);
    start(0, answer, { prompt: [] });
    await waitFor("the failure", () => answer.failure !== undefined);
    expect(answer.failure).toMatchObject({ kind: "internal" });
  });

  test.each([
    ["a small model after 40 tokens", 1e6, 40, [51, 64, 64, 5]],
    ["a large model after 127", 1e9, 127, [51, 52, 60, 5]],
    ["a large model after 128", 1e9, 128, [51, 64, 64, 5]],
  ])(
    "evaluates a little of what is held again, where that fills a tile of attention sooner: %s",
    async (_, modelBytes, held, evaluated) => {
      const { context, start, done } = setUp({ batchSize: 512 });
      Object.assign(context, { attentionTile: 64, modelBytes });
      for (const [at, rest] of [1, 51, 52, 60, 5].entries()) {
        const answer = new ScriptedAnswer(1);
        start(0, answer, { prompt: [...promptOf(held), ...promptOf(rest, 1000 * (at + 1))] });
        await done(answer);
      }
      // 51 and 5 tokens that are left are too few.
      expect(context.batches.map(([part]) => part?.tokens.length)).toEqual([
        held + 1,
        ...evaluated,
      ]);
    },
  );

  test("copies a prefix from another sequence when that has evaluated it", async () => {
    const { context, cache, start, done } = setUp({ batchSize: 16 });
    const prompt = promptOf(40);
    const [first, second] = [new ScriptedAnswer(8), new ScriptedAnswer(1)];
    start(0, first, { prompt });
    const held = cache.sequences[0];
    if (held === undefined) throw new Error("no sequence");
    const pending = (): boolean => held.tokens.length < prompt.length;
    start(1, second, { prompt, source: { sequence: held, shared: 40, pending } });
    await done(first, second);
    expect(second.cachedTokens).toBe(39);
    expect(context.cells).toContain("copy 0 to 1");
  });

  describe("a prompt that waits for a prefix", () => {
    const prefix = promptOf(20, 7000);
    const prompt = [...prefix, ...promptOf(10, 9000)];

    test.each([
      ["goes on after it where the one that evaluates it has its steps", 0, 20],
      ["goes before it where it would have its turn first", 900, 0],
    ])("%s", async (_, before, cached) => {
      const { context, cache, start, done } = setUp();
      const waiting = new ScriptedAnswer(1);
      const [, held] = cache.sequences;
      if (held === undefined) throw new Error("no sequence");
      if (before > 0) start(0, new ScriptedAnswer(1), { prompt: promptOf(before) });
      start(1, new ScriptedAnswer(1), { prompt: [...prefix, ...promptOf(500, 8000)] });
      const pending = (): boolean => held.tokens.length < prefix.length;
      start(2, waiting, { prompt, source: { sequence: held, shared: prefix.length, pending } });
      await done(waiting);
      expect(waiting.cachedTokens).toBe(cached);
      const step = context.shape.findIndex((parts) => parts.some(([sequence]) => sequence === 2));
      expect(step).toBe(before > 0 ? 0 : 1);
    });

    test("does not make the parts smaller of those for which it waits", async () => {
      const { context, cache, start, done } = setUp();
      const waiting = new ScriptedAnswer(1);
      const [held] = cache.sequences;
      if (held === undefined) throw new Error("no sequence");
      start(0, new ScriptedAnswer(1), { prompt: [...prefix, ...promptOf(40, 8000)] });
      const pending = (): boolean => held.tokens.length < prefix.length;
      start(1, waiting, { prompt, source: { sequence: held, shared: prefix.length, pending } });
      await done(waiting);
      expect(context.shape).toEqual([[[0, 60]], [[1, 10]]]);
    });

    test("copies what it can where it waits no more", async () => {
      const { cache, start, done } = setUp();
      const waiting = new ScriptedAnswer(1);
      const [, other, third] = cache.sequences;
      if (other === undefined || third === undefined) throw new Error("no sequences");
      third.tokens.push(...prompt.slice(0, 16));
      const meanwhile = { sequence: third, shared: 16, pending: () => false };
      const source = { sequence: other, shared: 20, pending: () => true, meanwhile };
      start(0, waiting, { prompt, source });
      await done(waiting);
      expect(waiting.cachedTokens).toBe(16);
    });
  });

  test("evaluates a fresh prompt in batches of its own, smaller ones beside answers, and others by turns with it", async () => {
    const { context, start, done } = setUp({ batchSize: 256 });
    const [running, fresh] = [new ScriptedAnswer(12), new ScriptedAnswer(1)];
    start(0, running);
    running.onAccept = () => {
      if (running.accepted === 1) start(1, fresh, { prompt: promptOf(260), fresh: true });
    };
    await done(running, fresh);
    const ofFresh = context.shape.filter((parts) => parts.some(([sequence]) => sequence === 1));
    // Nothing of so many tokens was measured before it.
    expect(ofFresh.map(([part]) => part?.[1])).toEqual([64, 192, 4]);
    const [other, alike] = [new ScriptedAnswer(1), new ScriptedAnswer(1)];
    const before = context.shape.length;
    start(2, alike, { prompt: promptOf(600, 7000), fresh: true });
    start(3, other, { prompt: promptOf(600, 8000) });
    await done(other, alike);
    const turns = context.shape.slice(before).map((parts) => parts.map(([sequence]) => sequence));
    // Whose turn it is follows from how long the others' steps took.
    expect(turns.sort()).toEqual([[2], [2], [2], [3], [3], [3]]);
  });

  test("counts what the scores of a prompt take as time that it had", async () => {
    let now = 0;
    using clock = spyOn(performance, "now").mockImplementation(() => now);
    const { context, start, done } = setUp();
    context.onDecode = () => {
      now += 10;
    };
    const logits = { token: promptOf(1)[0] ?? never(), logit: 0, top: [], weight: 1 };
    const scorer = {
      logitsOf: async () => {
        now += 10;
        return logits;
      },
    };
    const [scored, other] = [new ScriptedAnswer(1), new ScriptedAnswer(1)];
    Object.assign(scored, { promptScores: { scorer, top: 0, take: () => {} } });
    start(0, scored, { prompt: promptOf(64) });
    start(1, other, { prompt: promptOf(640, 5000) });
    await done(scored, other);
    const turns = context.shape.map((parts) => parts.map(([sequence]) => sequence).join());
    // The first 32 tokens take as long as all ten steps of the other one.
    expect(turns).toEqual(["0", ...Array.from({ length: 10 }, () => "1"), "0"]);
    expect(clock).toHaveBeenCalled();
  });

  test("fails the answers of a batch that failed, and goes on with the others", async () => {
    const { context, cache, start, done } = setUp();
    const [broken, other] = [new ScriptedAnswer(5), new ScriptedAnswer(5)];
    context.onDecode = () => {
      if (context.batches.length === 2) throw new Error("decode");
    };
    start(0, broken);
    await waitFor("the failure", () => broken.failure !== undefined);
    expect(broken.failure).toMatchObject({ message: "decode" });
    expect(cache.sequences[0]?.tokens).toEqual([]);
    context.onDecode = () => {};
    start(1, other);
    await done(other);
  });

  test("fails the one whose reader throws, and no other", async () => {
    const { start, done } = setUp();
    const [broken, other] = [new ScriptedAnswer(5), new ScriptedAnswer(5)];
    broken.onAccept = () => {
      throw new Error("reader");
    };
    start(0, broken);
    start(1, other);
    await done(other);
    expect(broken.failure).toMatchObject({ message: "reader" });
  });

  test("closes after the step in progress, and begins nothing more", async () => {
    const { context, scheduler, start } = setUp();
    const running = new ScriptedAnswer(1000);
    const [begun, decoding] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    context.onDecode = () => {
      if (context.batches.length !== 3) return;
      begun.resolve();
      return decoding.promise;
    };
    start(0, running);
    await begun.promise;
    const closed = scheduler.close(new Error("closed"));
    expect(running.failure).toMatchObject({ message: "closed" });
    decoding.resolve();
    await closed;
    expect(context.batches).toHaveLength(4);
    expect(() => start(1, new ScriptedAnswer(1))).toThrow("closed");
  });

  describe("with steps that sample several tokens", () => {
    function severalTimes(times: number) {
      const made = setUp();
      made.context.times = times;
      const tokensOf = (sequence: number) =>
        made.cache.sequences[sequence]?.tokens.slice(10).map(Number);
      return { ...made, tokensOf };
    }

    test("takes them all, and goes on after the last", async () => {
      const { context, start, done, tokensOf } = severalTimes(3);
      const answer = new ScriptedAnswer(8);
      start(0, answer);
      await done(answer);
      // The prompt's own step samples one, as the library does.
      const steps = context.batches.map((parts) =>
        parts.map(({ position, tokens }) => [position, ...tokens.map(Number)]),
      );
      expect(steps.slice(1)).toEqual([[[10, 7]], [[13, 9]], [[16, 9]]]);
      expect(answer.accepted).toBe(8);
      expect(tokensOf(0)).toEqual([7, 7, 8, 9, 7, 8, 9]);
    });

    test("samples no more than any of the answers may take, and one with a seed", async () => {
      const { context, start, done } = severalTimes(5);
      const [long, short] = [new ScriptedAnswer(9), new ScriptedAnswer(3)];
      start(0, long);
      start(1, short);
      await done(long, short);
      expect([long.accepted, short.accepted]).toEqual([9, 3]);
      const before = context.batches.length;
      const seeded = new ScriptedAnswer(4);
      start(2, seeded, { fresh: true });
      await done(seeded);
      expect(context.batches.length - before).toBe(4);
    });

    test("holds what it evaluated for an answer that ended among them", async () => {
      const { start, done, tokensOf } = severalTimes(4);
      const answer = new ScriptedAnswer(3);
      Object.defineProperty(answer, "room", { value: 100 });
      start(0, answer);
      await done(answer);
      expect(answer.accepted).toBe(3);
      expect(tokensOf(0)).toEqual([7, 7, 8, 9]);
    });

    test("rewinds where an answer goes on in another way", async () => {
      const { context, start, done, tokensOf } = severalTimes(4);
      const answer = new ScriptedAnswer(5);
      answer.feeds.set(3, { tokens: promptOf(2, 500) });
      start(0, answer);
      await done(answer);
      expect(context.cells).toEqual(["truncate 0 to 12"]);
      const third = context.batches[2]?.map(({ position, tokens }) => [
        position,
        ...tokens.map(Number),
      ]);
      expect(third).toEqual([[12, 500, 501]]);
      expect(tokensOf(0)).toEqual([7, 7, 500, 501, 7]);
    });

    describe("and are told while it goes on", () => {
      function told(tells: number, times = 12) {
        const made = severalTimes(times);
        made.context.tells = tells;
        return made;
      }

      test("takes them as they come, and holds what was evaluated", async () => {
        const { context, start, done, tokensOf } = told(2);
        const answer = new ScriptedAnswer(7);
        start(0, answer);
        await done(answer);
        // The prompt's step and one more.
        expect(context.batches).toHaveLength(2);
        expect(answer.accepted).toBe(7);
        expect(tokensOf(0)).toEqual([7, 7, 8, 9, 10, 11]);
      });

      test("ends the step for a new request", async () => {
        const { context, start, done } = told(1, 100);
        const [first, second] = [new ScriptedAnswer(40), new ScriptedAnswer(2)];
        start(0, first);
        first.onAccept = () => {
          if (first.accepted === 5) start(1, second);
        };
        await done(first, second);
        expect(context.batches[2]?.map(({ sequence }) => sequence)).toEqual([1]);
        expect(context.batches[3]?.map(({ sequence }) => sequence)).toEqual([0, 1]);
        expect([first.accepted, second.accepted]).toEqual([40, 2]);
        expect(context.batches[3]?.[0]?.position).toBe(10 + 5);
      });

      test("ends the step for an answer that left, and holds what was evaluated after it", async () => {
        const { context, start, done, tokensOf } = told(1, 100);
        const [stays, leaves] = [new ScriptedAnswer(20), new ScriptedAnswer(90)];
        start(0, stays);
        const stop = start(1, leaves);
        leaves.onAccept = () => {
          if (leaves.accepted === 5) stop();
        };
        await done(stays);
        expect(leaves.accepted).toBe(5);
        expect(context.batches[2]?.map(({ sequence }) => sequence)).toEqual([0]);
        expect(tokensOf(1)).toEqual([7, 7, 8, 9, 10]);
      });

      test("ends the step for a reader that is behind", async () => {
        const { context, start, scheduler, done } = told(1, 100);
        const [quick, slow] = [new ScriptedAnswer(20), new ScriptedAnswer(20)];
        start(0, quick);
        start(1, slow);
        slow.onAccept = () => {
          if (slow.accepted === 5) slow.paused = true;
        };
        await done(quick);
        expect(slow.accepted).toBeLessThan(8);
        expect(context.batches[2]?.map(({ sequence }) => sequence)).toEqual([0]);
        slow.paused = false;
        scheduler.wake();
        await done(slow);
        expect(slow.accepted).toBe(20);
      });

      test("rewinds what was evaluated after an answer that goes on in another way", async () => {
        const { context, start, done, tokensOf } = told(2);
        const answer = new ScriptedAnswer(6);
        answer.feeds.set(3, { tokens: promptOf(2, 500) });
        start(0, answer);
        await done(answer);
        expect(context.cells).toEqual(["truncate 0 to 12"]);
        expect(tokensOf(0)?.slice(0, 4)).toEqual([7, 7, 500, 501]);
      });

      test("fails the one whose reader throws, and no other", async () => {
        const { start, done } = told(2);
        const [good, bad] = [new ScriptedAnswer(9), new ScriptedAnswer(9)];
        bad.onAccept = () => {
          if (bad.accepted === 4) throw new Error("reader");
        };
        start(0, good);
        start(1, bad);
        await done(good);
        expect(bad.failure).toMatchObject({ message: "reader" });
        expect(good.accepted).toBe(9);
      });
    });
  });
});
