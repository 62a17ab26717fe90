import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { StepThreads, StepWatch } from "../../../../src/engine/machine/steps.ts";

const megabyte = 1024 * 1024;

/** A machine whose steps take what a test says, and the threads that they were made with. */
function machine({ size = 600 * megabyte, budget = 2 } = {}) {
  const changes: number[] = [];
  const threads = new StepThreads({ size, budget, onChange: (count) => changes.push(count) });
  let now = 0;
  return {
    threads,
    changes,
    /** Makes steps; returns how many of them had each number of threads. */
    steps(
      count: number,
      msOf: (threads: number, tokens: number) => number,
      { tokens = 1, steady = false } = {},
    ): Record<number, number> {
      const made: Record<number, number> = {};
      for (let at = 0; at < count; at++) {
        const used = threads.threadsFor(tokens, steady);
        const ms = msOf(used, tokens);
        now += ms;
        threads.took({ tokens, threads: used, ms, now, steady });
        made[used] = (made[used] ?? 0) + 1;
      }
      return made;
    },
    idle(ms: number): void {
      now += ms;
    },
  };
}

/** Each thread does its part of the work, and all of them wait for the slowest at every layer. */
const free = (threads: number, tokens = 1): number => (100 * Math.ceil(tokens / 4)) / threads;
const busy = (threads: number, tokens = 1): number =>
  threads === 1 ? 2 * free(1, tokens) : 20 * free(threads, tokens);
/** A model whose steps are over before a second thread helps. */
const small = (threads: number, tokens = 1): number => tokens / threads + 2 * threads;

describe("the threads of a model's steps", () => {
  test.each([
    ["one where the budget is one", 600 * megabyte, 1, 1],
    ["one of a model of some hundred kilobytes", 170_000, 8, 1],
    ["all of a small model", 25 * megabyte, 8, 8],
    ["all of a large model", 600 * megabyte, 8, 8],
  ])("are %s", (_, size, budget, expected) => {
    const { start } = new StepThreads({ size, budget });
    expect(start.threads).toBe(expected);
    expect(start.why).not.toBe("");
  });

  test("are compared with fewer once, and stay all on a free machine", () => {
    const { steps, changes } = machine();
    expect(steps(1000, free)).toEqual({ 1: 4, 2: 996 });
    expect(changes).toEqual([]);
  });

  test("are known to be tried, unless a step has a seed", () => {
    const { steps, threads } = machine();
    const tried = Array.from({ length: 20 }, () => {
      const is = [threads.isTrial(1), threads.isTrial(1, true)];
      const { 1: few = 0 } = steps(1, free);
      expect(is).toEqual([few === 1, false]);
      return few;
    });
    expect(tried.filter((few) => few === 1)).toHaveLength(4);
  });

  test("are compared once also where steps that are too long to try with come between", () => {
    const { steps, changes } = machine();
    const tried = Array.from({ length: 100 }, () => {
      steps(1, free, { tokens: 512 });
      return steps(1, free, { tokens: 16 })[1] ?? 0;
    });
    expect(tried.reduce((sum, count) => sum + count)).toBe(4);
    expect(changes).toEqual([]);
  });

  test("become one within seconds on a machine that is busy from the start", () => {
    const { steps, changes } = machine();
    const made = steps(100, busy);
    expect(changes).toEqual([1]);
    expect(made[2]).toBeLessThan(6);
  });

  test("become one also where each step of an answer takes many seconds with all", () => {
    const { steps, changes } = machine();
    const veryBusy = (threads: number): number => (threads === 1 ? 200 : 5000);
    steps(2, () => 9000, { tokens: 40 });
    const made = steps(100, veryBusy);
    expect(changes).toEqual([1]);
    expect(made[2]).toBeLessThan(6);
  });

  test.each([
    ["an answer", 1],
    ["a prompt", 512],
  ])("come back also where every step, of %s, takes many seconds", (_, tokens) => {
    const { steps, idle, changes } = machine();
    const long = (threads: number): number => 8000 / threads;
    const beside = (threads: number): number => (threads === 1 ? 9000 : 30_000);
    steps(20, long, { tokens });
    steps(10, beside, { tokens });
    expect(changes).toEqual([1]);
    idle(300_000);
    expect(steps(100, long, { tokens })[2]).toBeGreaterThan(80);
    expect(changes).toEqual([1, 2]);
  });

  test("are tried seldom where every step takes many seconds and the machine stays busy", () => {
    const { steps, changes } = machine();
    const [few, all] = [9000, 30_000];
    steps(20, () => 4000);
    const made = steps(1000, (threads) => (threads === 1 ? few : all));
    expect(changes).toEqual([1]);
    const { 1: one = 0, 2: two = 0 } = made;
    expect(two).toBeGreaterThan(5);
    expect(two * (all - few)).toBeLessThan(0.1 * (one * few + two * all));
  });

  test("stay all where only waking them takes long", () => {
    const { steps, idle, changes } = machine({ budget: 8 });
    for (let answer = 0; answer < 20; answer++) {
      idle(1000);
      steps(1, (count) => 30 * count, { tokens: 1 });
      steps(50, free);
    }
    expect(changes).toEqual([]);
  });

  test("become fewer when steps take many times the fastest, and all again when the machine is free", () => {
    const { steps, idle, changes } = machine();
    steps(100, free);
    steps(100, busy);
    expect(changes).toEqual([1]);
    idle(60_000);
    expect(steps(100, free)[2]).toBeGreaterThan(90);
    expect(changes).toEqual([1, 2]);
  });

  test("are probed now and then on a busy machine, for a tenth of the time at most", () => {
    const { steps } = machine();
    const { 1: one = 0, 2: two = 0 } = steps(2000, busy);
    expect(two).toBeGreaterThan(1);
    expect(two * (busy(2) - busy(1))).toBeLessThan(0.1 * (one * busy(1) + two * busy(2)));
  });

  test("are halved for as long as that is faster", () => {
    const { steps, idle, threads, changes } = machine({ budget: 16 });
    const fourCoresFree = (count: number): number => (count > 4 ? 50 * count : free(count));
    expect(steps(100, fourCoresFree)[4]).toBeGreaterThan(75);
    expect(changes).toEqual([8, 4]);
    idle(60_000);
    steps(20, free);
    expect(threads.threadsFor(1)).toBe(16);
  });

  test("are all again where only steps of other sizes follow those that were slow", () => {
    const { steps, idle } = machine({ size: 25 * megabyte });
    steps(20, free, { tokens: 10 });
    idle(10_000);
    // So slow that fewer threads are compared with the next steps.
    steps(1, busy, { tokens: 10 });
    expect(steps(100, free, { tokens: 100 })[2]).toBeGreaterThan(90);
  });

  test("do not change for one step that was held up", () => {
    const { steps, changes } = machine();
    steps(100, free);
    steps(1, () => 400);
    steps(100, free);
    expect(changes).toEqual([]);
  });

  test("are soon all again where only the first steps after a pause were slow", () => {
    const { steps, idle } = machine();
    steps(100, free);
    for (let time = 0; time < 10; time++) {
      idle(5000);
      steps(5, busy);
      expect(steps(100, free)[2]).toBeGreaterThan(80);
    }
  });

  test("come back after a pause of the whole machine", () => {
    const { steps, threads } = machine();
    steps(100, free);
    steps(1, () => 3_600_000);
    steps(100, free);
    expect(threads.threadsFor(1)).toBe(2);
  });

  test("stay where a long context makes steps slow, which fewer threads do not help", () => {
    const { steps, changes } = machine();
    steps(100, free);
    const made = steps(1000, (threads) => 10 * free(threads));
    expect(changes).toEqual([]);
    expect(made[1]).toBeLessThan(100);
  });

  test("of a small model follow from how many tokens a step has", () => {
    const { steps, threads } = machine({ size: 25 * megabyte });
    for (const tokens of [1, 4, 64]) steps(100, small, { tokens });
    expect([1, 4, 64].map((tokens) => threads.threadsFor(tokens))).toEqual([1, 2, 2]);
  });

  test("of a large model are the same for prompts, which are too long to try with", () => {
    const { steps, idle, threads } = machine();
    const prompt = { tokens: 512 };
    expect(steps(3, free, prompt)).toEqual({ 2: 3 });
    steps(20, busy);
    expect(threads.threadsFor(512)).toBe(1);
    idle(60_000);
    steps(20, free);
    expect(threads.threadsFor(512)).toBe(2);
  });

  test("are not tried beside a seed, whose rounding would differ", () => {
    const { steps, threads } = machine();
    expect(steps(200, free, { steady: true })).toEqual({ 2: 200 });
    steps(10, busy, { steady: true });
    expect(threads.threadsFor(1)).toBe(1);
    const made = steps(100, busy, { steady: true });
    expect(made).toEqual({ 1: 100 });
  });

  test("say nothing of steps whose threads another model had", () => {
    const { threads, changes } = machine();
    for (let now = 0; now < 1000; now++) threads.took({ tokens: 1, threads: 1, ms: 500, now });
    expect(threads.threadsFor(1)).toBe(2);
    expect(changes).toEqual([]);
  });
});

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** A step that takes so long. */
async function step(watch: StepWatch, tokens: number, ms: number): Promise<void> {
  const running = watch.run(tokens, () => new Promise<void>((done) => setTimeout(done, ms)));
  jest.advanceTimersByTime(ms);
  await running;
}

/** What a step of so many tokens is said to take, while it never ends. */
function usualOf(watch: StepWatch, tokens: number): number | undefined {
  void watch.run(tokens, () => new Promise<void>(() => {}));
  return watch.report().usualMs;
}

describe("the steps of a process", () => {
  test("are counted when they end, also those that fail, and told while they run", async () => {
    const watch = new StepWatch();
    expect(watch.report()).toEqual({});
    const { promise, resolve } = Promise.withResolvers<void>();
    const running = watch.run(1, () => promise);
    expect(watch.report()).toEqual({ oldest: 0, usualMs: 0 });
    await watch.run(1, () => Promise.resolve());
    expect(watch.report()).toMatchObject({ oldest: 0 });
    resolve();
    await running;
    await watch.run(1, () => Promise.reject(new Error("no"))).catch(() => {});
    expect(watch.report()).toEqual({});
  });

  test("usually take what those of their size took", async () => {
    const watch = new StepWatch();
    await step(watch, 1, 200);
    await step(watch, 512, 25_000);
    expect(usualOf(watch, 1)).toBe(200);
    expect(usualOf(watch, 512)).toBe(25_000);
  });

  test("of a size that was never seen take their part of smaller ones, or no more than a larger one", async () => {
    const small = new StepWatch();
    await step(small, 2, 400);
    expect(usualOf(small, 512)).toBe(102_400);
    const large = new StepWatch();
    await step(large, 512, 25_000);
    expect(usualOf(large, 1)).toBe(25_000);
  });

  test("of a size that was never seen are not judged by one that took very long", async () => {
    const watch = new StepWatch();
    await step(watch, 16, 30_000);
    await step(watch, 1, 50);
    expect(usualOf(watch, 512)).toBe(25_600);
  });

  test("that were stopped for an hour do not make the next ones slow", async () => {
    const watch = new StepWatch();
    await step(watch, 1, 100);
    await step(watch, 1, 3_600_000);
    expect(usualOf(watch, 1)).toBe(370);
  });

  test("that compute no tokens are counted and not timed", async () => {
    const watch = new StepWatch();
    await step(watch, 0, 5000);
    expect(watch.report()).toEqual({});
    expect(usualOf(watch, 1)).toBe(0);
  });
});
