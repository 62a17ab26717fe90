/** Heartbeat of a model's process: detects a blocked event loop, and steps that hang. */
import type { Vitals } from "./protocol.ts";

export interface HeartbeatLimits {
  /** How long a heartbeat may go unanswered before the process is restarted; 0: no limit. */
  heartbeatTimeoutMs: number;
  /** How long it may compute without finishing a step, more if its steps are long; 0: no limit. */
  stepTimeoutMs: number;
}

interface HeartbeatOptions extends HeartbeatLimits {
  ask: () => void;
  /** Called once, when it was silent or stuck for too long. `why`: `no heartbeat for 30 s`. */
  onHung: (why: string) => void;
}

const longestIntervalMs = 2000;
/** Fewest heartbeats within the timeout. */
const intervals = 10;
/** Loading may take longer: libraries and weights come from a slow disk, accelerators compile. */
const loadingFactor = 10;
/** How many times its usual time a step may take, since other programs may be busy. */
const slowestStep = 10;
/** After this fraction of a limit, the model is reported as not ready. */
const unreadyFraction = 1 / 3;

export class Heartbeat implements Disposable {
  readonly #options: HeartbeatOptions;
  readonly #intervalMs: number;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Counted in this loop's intervals: none is missed while it is blocked or the machine sleeps. */
  #missed = 0;
  #isLoading = true;
  #last: Vitals | undefined;
  /** Answers in a row that found the same step in progress. */
  #stuck = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    const { heartbeatTimeoutMs, stepTimeoutMs } = options;
    const shortest = Math.min(...[heartbeatTimeoutMs, stepTimeoutMs].filter((ms) => ms > 0));
    this.#intervalMs = Math.min(longestIntervalMs, shortest / intervals);
    this.#timer = setInterval(() => this.#beat(), this.#intervalMs);
  }

  get silentMs(): number {
    return this.#missed * this.#intervalMs;
  }

  /** A short step keeps the loop from turning, so one that hangs is silent. */
  get mostSilentMs(): number {
    const { heartbeatTimeoutMs, stepTimeoutMs } = this.#options;
    if (stepTimeoutMs === 0 || this.#isLoading) return heartbeatTimeoutMs;
    return heartbeatTimeoutMs === 0 ? stepTimeoutMs : Math.min(heartbeatTimeoutMs, stepTimeoutMs);
  }

  get stuckMs(): number {
    return this.#stuck * this.#intervalMs;
  }

  get mostStuckMs(): number {
    const usualMs = this.#last?.steps?.usualMs ?? 0;
    const { stepTimeoutMs } = this.#options;
    const leastMs = stepTimeoutMs * (this.#isLoading ? loadingFactor : 1);
    return Math.max(leastMs, usualMs * slowestStep);
  }

  /** What has gone wrong for a while, and when the process is restarted for it. */
  get problem(): string | undefined {
    const { stepTimeoutMs } = this.#options;
    const { silentMs, mostSilentMs, stuckMs, mostStuckMs } = this;
    if (mostSilentMs > 0 && silentMs >= mostSilentMs * unreadyFraction) {
      return `has left its heartbeat unanswered for ${seconds(silentMs)}; after ${seconds(mostSilentMs)} its process is started again`;
    }
    if (stepTimeoutMs === 0 || stuckMs < mostStuckMs * unreadyFraction) return undefined;
    return `has not finished a step for ${seconds(stuckMs)}; after ${seconds(mostStuckMs)} its process is started again`;
  }

  heard(): void {
    this.#missed = 0;
  }

  answered(vitals: Vitals): void {
    const { steps, pageFaults } = vitals;
    const { steps: before, pageFaults: faultsBefore } = this.#last ?? {};
    // Before its first step a load can hang too: where it reads its file or opens a library.
    const isComputing =
      this.#isLoading || (steps?.usualMs !== undefined && before?.usualMs !== undefined);
    // A process that waits for weights from a slow disk does not hang.
    const isSame = steps?.oldest === before?.oldest && pageFaults === faultsBefore;
    this.#last = vitals;
    this.#stuck = isComputing && isSame ? this.#stuck + 1 : 0;
    if (this.#options.stepTimeoutMs === 0 || this.stuckMs < this.mostStuckMs) return;
    const missing = this.#isLoading ? "no progress" : "a step did not end";
    this.#hung(`${missing} for ${seconds(this.stuckMs)}`);
  }

  /** It reported a part of its load. */
  progressed(): void {
    if (this.#isLoading) this.#stuck = 0;
  }

  loaded(): void {
    this.#isLoading = false;
    this.#stuck = 0;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const { ask } = this.#options;
    const mostMs = this.mostSilentMs * (this.#isLoading ? loadingFactor : 1);
    if (mostMs > 0 && this.silentMs >= mostMs) {
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
