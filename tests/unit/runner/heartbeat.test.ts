import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { Heartbeat } from "../../../src/runner/heartbeat.ts";

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

function watched(timeoutMs: number) {
  const said = { asked: 0, silent: 0 };
  const heartbeat = new Heartbeat({
    timeoutMs,
    ask: () => {
      said.asked++;
    },
    onSilent: () => {
      said.silent++;
    },
  });
  return { heartbeat, said };
}

describe("a heartbeat", () => {
  test("is asked for at intervals, and one that is answered goes on for ever", () => {
    const { heartbeat, said } = watched(10_000);
    heartbeat.loaded();
    for (let second = 0; second < 100; second++) {
      jest.advanceTimersByTime(1000);
      heartbeat.heard();
    }
    expect(said).toEqual({ asked: 100, silent: 0 });
    heartbeat[Symbol.dispose]();
    jest.advanceTimersByTime(10_000);
    expect(said.asked).toBe(100);
  });

  test("that stays away is told once, when the time is up", () => {
    const { heartbeat, said } = watched(10_000);
    heartbeat.loaded();
    jest.advanceTimersByTime(10_000);
    expect([said.silent, heartbeat.silentMs]).toEqual([0, 10_000]);
    jest.advanceTimersByTime(100_000);
    expect(said.silent).toBe(1);
  });

  test("of a process that loads may stay away ten times as long", () => {
    const { said } = watched(1000);
    jest.advanceTimersByTime(10_000);
    expect(said.silent).toBe(0);
    jest.advanceTimersByTime(1000);
    expect(said.silent).toBe(1);
  });

  test("is never missed where there is no bound", () => {
    const { heartbeat, said } = watched(0);
    heartbeat.loaded();
    jest.advanceTimersByTime(3_600_000);
    expect(said.silent).toBe(0);
    expect(said.asked).toBeGreaterThan(1000);
    heartbeat[Symbol.dispose]();
  });
});
