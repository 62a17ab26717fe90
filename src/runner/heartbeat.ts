/** Heartbeat: asks a process at intervals whether its event loop turns, and counts those without an answer. */

export interface HeartbeatOptions {
  /** How long it may be silent; 0: for ever. */
  timeoutMs: number;
  ask: () => void;
  /** Called once, when it has been silent for that long. */
  onSilent: () => void;
}

const longestIntervalMs = 2000;
/** Least number of intervals in the time that a process may be silent. */
const intervals = 10;
/** A process that loads may be silent for longer: reading GPU libraries from a slow disk blocks its loop. */
const loadingFactor = 10;

export class Heartbeat implements Disposable {
  readonly #options: HeartbeatOptions;
  readonly #intervalMs: number;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Counted in this loop's own intervals: while it is blocked or the machine sleeps, nothing is missed. */
  #missed = 0;
  #isLoading = true;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    const { timeoutMs } = options;
    this.#intervalMs =
      timeoutMs === 0 ? longestIntervalMs : Math.min(longestIntervalMs, timeoutMs / intervals);
    this.#timer = setInterval(() => this.#beat(), this.#intervalMs);
  }

  /** How long ago the last message came. */
  get silentMs(): number {
    return this.#missed * this.#intervalMs;
  }

  /** A message came from the process. */
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
