/** A clock that a test turns. */
import type { Clock } from "../../src/core/clock.ts";

export interface FakeClock extends Clock {
  /** Lets so much time pass, and runs what is due, in order; then lets promises settle. */
  pass(ms: number): Promise<void>;
}

export function fakeClock(): FakeClock {
  let now = 0;
  const timers = new Set<{ at: number; run: () => void }>();
  const nextBefore = (end: number) =>
    [...timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
  return {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return { [Symbol.dispose]: () => void timers.delete(timer) };
    },
    async pass(ms) {
      const end = now + ms;
      for (let timer = nextBefore(end); timer !== undefined; timer = nextBefore(end)) {
        timers.delete(timer);
        now = timer.at;
        timer.run();
        await settled();
      }
      now = end;
    },
  };
}

/** A turn of the loop: what waits for promises that are settled has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
