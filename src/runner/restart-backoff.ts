/** Exponential backoff of restarts: a process that fails again and again is started ever later. */

/** A process that ran for so long was healthy: its end begins a new series. */
const steadyMs = 10_000;
const firstPauseMs = 500;
const longestPauseMs = 30_000;

export class RestartBackoff {
  #failures = 0;
  #startedAt = 0;

  /** Begins a new series of failures. */
  reset(): void {
    this.#failures = 0;
  }

  /** A process is up. */
  started(): void {
    this.#startedAt = performance.now();
  }

  /** A process that was up ended; returns how long to wait before the next. */
  ended(): number {
    if (performance.now() - this.#startedAt > steadyMs) this.reset();
    return this.failed();
  }

  /** A start failed; returns how long to wait before the next. */
  failed(): number {
    const failures = this.#failures++;
    return failures === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));
  }
}
