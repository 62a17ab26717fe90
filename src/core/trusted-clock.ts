/** The clock for expiry of files, vector stores and responses: a jump of the machine's clock deletes nothing. */
import type { Log } from "./log.ts";

export interface ClockSources {
  wall: () => number;
  steady: () => number;
}

/** Corrections up to this much do not count as a jump. */
const toleranceMs = 60_000;
/** After running steadily for so long since a jump, the clock is trusted: it was wrong before. */
const settleMs = 24 * 3_600_000;

export class TrustedClock {
  readonly #sources: ClockSources;
  readonly #log: Log;
  #start: { wall: number; steady: number };
  #jump: { by: number; at: number } | undefined;

  constructor(
    log: Log,
    sources: ClockSources = { wall: () => Date.now(), steady: () => performance.now() },
  ) {
    this.#log = log;
    this.#sources = sources;
    this.#start = { wall: sources.wall(), steady: sources.steady() };
  }

  /** For what expires: while the machine's clock and the elapsed time disagree, the earlier of the two. */
  expiryTime(): Date {
    return new Date(Math.min(...this.#times()));
  }

  /** For what is made now, and expires some time after: the later of the two. It would expire at once when a clock that was set back is right again. */
  now(): Date {
    return new Date(Math.max(...this.#times()));
  }

  #times(): readonly number[] {
    const wall = this.#sources.wall();
    const steady = this.#sources.steady();
    const expected = this.#start.wall + steady - this.#start.steady;
    const by = wall - expected;
    if (Math.abs(by) <= toleranceMs) {
      this.#jump = undefined;
      return [wall];
    }
    if (this.#jump === undefined || Math.abs(by - this.#jump.by) > toleranceMs) {
      this.#jump = { by, at: steady };
      this.#log.warn("the machine's clock jumped; nothing expires because of it for a day", {
        seconds: Math.round(by / 1000),
        remedy: "Set the clock if it is wrong now. If it was wrong before, nothing is to do.",
      });
    } else if (steady - this.#jump.at >= settleMs) {
      this.#start = { wall, steady };
      this.#jump = undefined;
      return [wall];
    }
    return [wall, expected];
  }
}
