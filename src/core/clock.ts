/** A clock with timers, replaceable in tests. */
export interface Clock {
  /** Monotonic, in milliseconds. */
  now(): number;
  /** Runs it later, unless the returned disposable is disposed first. */
  after(ms: number, run: () => void): Disposable;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    // A timer does not hold the process alive.
    const timer = setTimeout(run, ms).unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
