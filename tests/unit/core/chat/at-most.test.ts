import { describe, expect, test } from "bun:test";
import { atMost } from "../../../../src/core/chat/at-most.ts";
import { merge } from "../../../../src/core/chat/merge.ts";

describe("iterations with a bound", () => {
  /** Counts how many run at the same time. */
  function watched(count: number, signal: AbortSignal) {
    const seen = { running: 0, most: 0, started: 0 };
    const starts = Array.from(
      { length: count },
      (_, at) =>
        async function* () {
          seen.started++;
          seen.running++;
          seen.most = Math.max(seen.most, seen.running);
          try {
            for (let turn = 0; turn < 3; turn++) {
              await Promise.resolve();
              yield at;
            }
          } finally {
            seen.running--;
          }
        },
    );
    return { seen, all: atMost(2, starts, signal) };
  }

  test("run no more than so many at the same time, and all of them in the end", async () => {
    const { seen, all } = watched(7, new AbortController().signal);
    const values = await Array.fromAsync(merge(all));
    expect(values).toHaveLength(21);
    expect(new Set(values.map(({ index }) => index)).size).toBe(7);
    expect(seen).toEqual({ running: 0, most: 2, started: 7 });
  });

  test("that wait for their turn never begin once the reader has left", async () => {
    const abandoned = new AbortController();
    const { seen, all } = watched(7, abandoned.signal);
    for await (const _ of merge(all, () => abandoned.abort())) break;
    expect(seen).toEqual({ running: 0, most: 2, started: 2 });
  });
});
