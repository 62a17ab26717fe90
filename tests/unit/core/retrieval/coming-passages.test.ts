import { expect, jest, test } from "bun:test";
import { ComingPassages } from "../../../../src/core/retrieval/coming-passages.ts";

test("passages that are being stored are waited for shortly, and not when storing takes long", async () => {
  const coming = new ComingPassages();
  const { signal } = new AbortController();
  const realNow = performance.now;
  let now = 0;
  jest.useFakeTimers();
  performance.now = () => now;
  try {
    coming.expect("The handbook is being stored.");
    let isOver = false;
    const first = coming.stored(signal).then(() => {
      isOver = true;
    });
    await Promise.resolve();
    expect(isOver).toBe(false);
    jest.advanceTimersByTime(10_000);
    await first;
    now = 60_000;
    // No timer fires any more.
    await coming.stored(signal);
  } finally {
    jest.useRealTimers();
    performance.now = realNow;
  }
});

test("a caller that leaves does not wait for passages that are being stored", async () => {
  const coming = new ComingPassages();
  coming.expect("The handbook is being stored.");
  const leave = new AbortController();
  const waiting = coming.stored(leave.signal);
  leave.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
});
