import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { StepWatch } from "../../../../src/engine/machine/steps.ts";

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
    expect(watch.report()).toEqual({ finished: 0 });
    const { promise, resolve } = Promise.withResolvers<void>();
    const running = watch.run(1, () => promise);
    expect(watch.report()).toEqual({ finished: 0, usualMs: 0 });
    resolve();
    await running;
    await watch.run(1, () => Promise.reject(new Error("no"))).catch(() => {});
    expect(watch.report()).toEqual({ finished: 2 });
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
    expect(watch.report()).toEqual({ finished: 1 });
    expect(usualOf(watch, 1)).toBe(0);
  });
});
