import { describe, expect, test } from "bun:test";
import { onAbort, pause, untilAborted } from "../../../src/core/abort.ts";

describe("a callback at an abort", () => {
  test("is called once", () => {
    const controller = new AbortController();
    let calls = 0;
    using _ = onAbort(controller.signal, () => calls++);
    controller.abort();
    controller.abort();
    expect(calls).toBe(1);
  });

  test("is not called after it was disposed of", () => {
    const controller = new AbortController();
    let calls = 0;
    {
      using _ = onAbort(controller.signal, () => calls++);
    }
    controller.abort();
    expect(calls).toBe(0);
  });
});

describe("waiting until aborted", () => {
  test("ends with the promise's outcome", async () => {
    const { signal } = new AbortController();
    expect(await untilAborted(Promise.resolve("done"), signal)).toBe("done");
    await expect(untilAborted(Promise.reject(new Error("failed")), signal)).rejects.toThrow(
      "failed",
    );
  });

  test("ends with the signal's reason where that comes first", async () => {
    const controller = new AbortController();
    const waiting = untilAborted(Promise.withResolvers<void>().promise, controller.signal);
    controller.abort(new Error("left"));
    await expect(waiting).rejects.toThrow("left");
  });

  test("ends at once where the signal was aborted before", async () => {
    const never = Promise.withResolvers<void>().promise;
    await expect(untilAborted(never, AbortSignal.abort(new Error("left")))).rejects.toThrow("left");
  });
});

describe("a pause", () => {
  test("ends when its time is over", async () => {
    const from = performance.now();
    await pause(20, new AbortController().signal);
    // Timers may be a little early.
    expect(performance.now() - from).toBeGreaterThan(15);
  });

  test.each(["before it began", "meanwhile"])("ends where the signal aborts %s", async (when) => {
    const controller = new AbortController();
    if (when === "before it began") controller.abort();
    const paused = pause(3_600_000, controller.signal);
    controller.abort();
    expect(await paused).toBeUndefined();
  });
});
