import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { Heartbeat } from "../../../src/runner/heartbeat.ts";
import type { Vitals } from "../../../src/runner/protocol.ts";

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

function watched(heartbeatTimeoutMs: number, stepTimeoutMs = 0) {
  const said = { asked: 0, hung: [] as string[] };
  const heartbeat = new Heartbeat({
    heartbeatTimeoutMs,
    stepTimeoutMs,
    ask: () => {
      said.asked++;
    },
    onHung: (why) => said.hung.push(why),
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
    expect(said).toEqual({ asked: 100, hung: [] });
    heartbeat[Symbol.dispose]();
    jest.advanceTimersByTime(10_000);
    expect(said.asked).toBe(100);
  });

  test("that stays away is told once, when the time is up", () => {
    const { heartbeat, said } = watched(10_000);
    heartbeat.loaded();
    jest.advanceTimersByTime(10_000);
    expect([said.hung, heartbeat.silentMs]).toEqual([[], 10_000]);
    jest.advanceTimersByTime(100_000);
    expect(said.hung).toEqual(["no heartbeat for 10 s"]);
  });

  test("of a process that loads may stay away ten times as long", () => {
    const { said } = watched(1000);
    jest.advanceTimersByTime(10_000);
    expect(said.hung).toEqual([]);
    jest.advanceTimersByTime(1000);
    expect(said.hung).toHaveLength(1);
  });

  test("without a bound of its own may stay away no longer than a step, once the process is loaded", () => {
    const { heartbeat, said } = watched(0, 10_000);
    jest.advanceTimersByTime(200_000);
    expect(said.hung).toEqual([]);
    heartbeat.heard();
    heartbeat.loaded();
    jest.advanceTimersByTime(12_000);
    expect(said.hung).toEqual(["no heartbeat for 10 s"]);
  });

  test("of a loaded process may stay away no longer than a step", () => {
    const { heartbeat, said } = watched(30_000, 10_000);
    jest.advanceTimersByTime(100_000);
    expect(said.hung).toEqual([]);
    heartbeat.heard();
    heartbeat.loaded();
    jest.advanceTimersByTime(11_000);
    expect(said.hung).toEqual(["no heartbeat for 10 s"]);
  });

  test("is never missed where there is no bound", () => {
    const { heartbeat, said } = watched(0);
    heartbeat.loaded();
    jest.advanceTimersByTime(3_600_000);
    expect(said.hung).toEqual([]);
    expect(said.asked).toBeGreaterThan(1000);
    heartbeat[Symbol.dispose]();
  });
});

describe("the answers to a heartbeat", () => {
  const loaded = (stepTimeoutMs: number) => {
    const watch = watched(10_000, stepTimeoutMs);
    watch.heartbeat.loaded();
    return watch;
  };

  /** Answers every beat for so many seconds. */
  function answers(
    { heartbeat }: ReturnType<typeof watched>,
    seconds: number,
    steps: () => Vitals["steps"],
    pageFaults: () => number = () => 0,
  ): void {
    for (let second = 0; second < seconds; second++) {
      jest.advanceTimersByTime(1000);
      heartbeat.heard();
      const vitals = { bytes: 1, pageFaults: pageFaults() };
      const computed = steps();
      heartbeat.answered(computed === undefined ? vitals : { ...vitals, steps: computed });
    }
  }

  test("that find the same step in progress for too long mean a hang", () => {
    const watch = loaded(60_000);
    answers(watch, 60, () => ({ oldest: 7, usualMs: 200 }));
    expect([watch.said.hung, watch.heartbeat.stuckMs]).toEqual([[], 59_000]);
    answers(watch, 1, () => ({ oldest: 7, usualMs: 200 }));
    expect(watch.said.hung).toEqual(["a step did not end for 60 s"]);
  });

  test("that find others each time, or none, mean none", () => {
    const watch = loaded(60_000);
    let oldest = 0;
    answers(watch, 200, () => ({ oldest: oldest++, usualMs: 200 }));
    answers(watch, 200, () => ({}));
    answers(watch, 200, () => undefined);
    expect(watch.said.hung).toEqual([]);
  });

  test("allow a step ten times what it usually takes: a large prompt on a slow CPU", () => {
    const watch = loaded(60_000);
    answers(watch, 250, () => ({ oldest: 7, usualMs: 25_000 }));
    expect([watch.said.hung, watch.heartbeat.mostStuckMs]).toEqual([[], 250_000]);
    answers(watch, 1, () => ({ oldest: 7, usualMs: 25_000 }));
    expect(watch.said.hung).toEqual(["a step did not end for 250 s"]);
  });

  test("do not count while the process waits for a disk to bring its weights", () => {
    const watch = loaded(60_000);
    let faults = 0;
    answers(
      watch,
      600,
      () => ({ oldest: 7, usualMs: 200 }),
      () => faults++,
    );
    expect(watch.said.hung).toEqual([]);
  });

  test("of a process that loads may find the same for ten times as long", () => {
    const watch = watched(10_000, 60_000);
    answers(watch, 600, () => ({ oldest: 0, usualMs: 0 }));
    expect(watch.said.hung).toEqual([]);
    answers(watch, 1, () => ({ oldest: 0, usualMs: 0 }));
    expect(watch.said.hung).toEqual(["no progress for 600 s"]);
  });

  test("of a process that loads and reports nothing for as long mean a hang, also before its first step", () => {
    const watch = watched(10_000, 60_000);
    answers(watch, 500, () => undefined);
    watch.heartbeat.progressed();
    answers(watch, 600, () => undefined);
    expect(watch.said.hung).toEqual(["no progress for 600 s"]);
  });

  test("may find the same for ever where there is no bound", () => {
    const watch = loaded(0);
    answers(watch, 4000, () => ({ oldest: 7, usualMs: 200 }));
    expect(watch.said.hung).toEqual([]);
  });
});
