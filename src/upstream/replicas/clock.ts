/** Time as replicas use it, so that a test can have its own. */

export interface Clock {
  /** Milliseconds of a clock that never jumps. */
  now(): number;
  /** Runs it later, unless what is returned was disposed of before. */
  after(ms: number, run: () => void): Disposable;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    // Asking a replica that is out keeps no process alive.
    timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
