/** Heartbeat: asks a process whether its event loop turns, and notices steps that do not end because its threads hang. */
import type { Vitals } from "./protocol.ts";

export interface HeartbeatOptions {
  /** How long it may be silent; 0: for ever. */
  timeoutMs: number;
  /** How long it may compute without an end of a step, or longer where its steps are long; 0: for ever. */
  stepTimeoutMs: number;
  ask: () => void;
  /** Called once, when it has been silent or stuck for that long; `why`: `no heartbeat for 30 s`. */
  onHung: (why: string) => void;
}

const longestIntervalMs = 2000;
/** Least number of intervals in the time that a process may be silent. */
const intervals = 10;
/** A process that loads may take longer: a slow disk brings GPU libraries and weights, an accelerator compiles its programs. */
const loadingFactor = 10;
/** A step may take so many times what those of its size usually take: other programs may be busy. */
const slowestStep = 10;

export class Heartbeat implements Disposable {
  readonly #options: HeartbeatOptions;
  readonly #intervalMs: number;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Counted in this loop's own intervals: while it is blocked or the machine sleeps, nothing is missed. */
  #missed = 0;
  #isLoading = true;
  #last: Vitals | undefined;
  /** Answers in a row that found the same steps in progress. */
  #stuck = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    const { timeoutMs, stepTimeoutMs } = options;
    const shortest = Math.min(...[timeoutMs, stepTimeoutMs].filter((ms) => ms > 0));
    this.#intervalMs = Math.min(longestIntervalMs, shortest / intervals);
    this.#timer = setInterval(() => this.#beat(), this.#intervalMs);
  }

  get silentMs(): number {
    return this.#missed * this.#intervalMs;
  }

  /** How long no step has ended while there was one in progress. */
  get stuckMs(): number {
    return this.#stuck * this.#intervalMs;
  }

  /** How long that may be for the steps in progress. */
  get mostStuckMs(): number {
    const usualMs = this.#last?.steps?.usualMs ?? 0;
    const { stepTimeoutMs } = this.#options;
    const leastMs = stepTimeoutMs * (this.#isLoading ? loadingFactor : 1);
    return Math.max(leastMs, usualMs * slowestStep);
  }

  heard(): void {
    this.#missed = 0;
  }

  answered(vitals: Vitals): void {
    const { steps, pageFaults } = vitals;
    const { steps: before, pageFaults: faultsBefore } = this.#last ?? {};
    const isComputing = steps?.usualMs !== undefined && before?.usualMs !== undefined;
    // One that waits for a slow disk to bring its weights is not hung.
    const isSame = steps?.finished === before?.finished && pageFaults === faultsBefore;
    this.#last = vitals;
    this.#stuck = isComputing && isSame ? this.#stuck + 1 : 0;
    if (this.#options.stepTimeoutMs === 0 || this.stuckMs < this.mostStuckMs) return;
    this.#hung(`no step ended for ${seconds(this.stuckMs)}`);
  }

  loaded(): void {
    this.#isLoading = false;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const { timeoutMs, ask } = this.#options;
    const mostMs = timeoutMs * (this.#isLoading ? loadingFactor : 1);
    if (timeoutMs > 0 && this.silentMs >= mostMs) {
      this.#hung(`no heartbeat for ${seconds(this.silentMs)}`);
      return;
    }
    this.#missed++;
    ask();
  }

  #hung(why: string): void {
    clearInterval(this.#timer);
    this.#options.onHung(why);
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
