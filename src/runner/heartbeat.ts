/** Asks a process at intervals whether its loop turns, and counts the intervals that brought no sign of it. */

export interface HeartbeatOptions {
  /** How long it may be silent; 0: for ever. */
  timeoutMs: number;
  ask: () => void;
  /** Called once, when it has been silent for so long. */
  onSilent: () => void;
}

const longestIntervalMs = 2000;
/** Least number of intervals in the time that a process may be silent. */
const intervals = 10;
/** Loading has steps that block the loop, as the start of GPU libraries from a slow disk. */
const loadingFactor = 10;

export class Heartbeat implements Disposable {
  readonly #options: HeartbeatOptions;
  readonly #intervalMs: number;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Intervals of this loop's own: while it was blocked or the machine slept it could not hear either. */
  #missed = 0;
  #isLoading = true;

  /** A process that loads may be silent for longer. */
  constructor(options: HeartbeatOptions) {
    this.#options = options;
    const { timeoutMs } = options;
    this.#intervalMs =
      timeoutMs === 0 ? longestIntervalMs : Math.min(longestIntervalMs, timeoutMs / intervals);
    this.#timer = setInterval(() => this.#beat(), this.#intervalMs);
  }

  /** For how long nothing was heard. */
  get silentMs(): number {
    return this.#missed * this.#intervalMs;
  }

  /** The process said something. */
  heard(): void {
    this.#missed = 0;
  }

  loaded(): void {
    this.#isLoading = false;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const { timeoutMs, ask, onSilent } = this.#options;
    const mostMs = timeoutMs * (this.#isLoading ? loadingFactor : 1);
    if (timeoutMs > 0 && this.silentMs >= mostMs) {
      clearInterval(this.#timer);
      onSilent();
      return;
    }
    this.#missed++;
    ask();
  }
}
