/** How long a model's steps take: how many threads they run on follows from it, and when one counts as hung. */

/** Bytes; the step of a smaller model is over before a second thread has begun. */
const tiny = 512 * 1024;
/** Bytes; of a larger model only a busy machine makes fewer threads faster, whatever a step's size. */
const large = 64 * 1024 * 1024;

/** A step is slow if it takes this many times the fastest of its size … */
const slowFactor = 3;
/** … and this many in a row, or this much time lost, is a reason to try fewer threads. */
const slowSteps = 3;
const slowMs = 1000;
/** A trial takes this many steps, or this much time. */
const trySteps = 4;
const tryMs = 1000;
/** Fewer threads stay if the median step takes less than this share of the time; more if it takes no longer. */
const clearlyFaster = 0.8;
/** A step that usually takes longer is not tried with, unless an answer's with fewer: it could take many times as long … */
const longestTriedMs = 3000;
/** … or one with more threads, once a comparison has waited as many times as long: no step may be shorter. */
const waitPerTriedMs = 10;
/** The pause after a try that failed; tries take no more than a tenth of the time. */
const [shortestPauseMs, longestPauseMs, pausePerLostMs] = [250, 300_000, 10];
/** After such a pause threads sleep, and waking them can take many times as long as a step. */
const coldMs = 3;
/** Of an exponential moving average: how much the last step counts against those before. */
const weight = 0.3;

export interface StepThreadsOptions {
  size: number;
  budget: number;
  /** Told when steps run on another number of threads from now on. */
  onChange?: (threads: number, why: string) => void;
}

export interface TimedStep {
  tokens: number;
  threads: number;
  ms: number;
  /** How many steps of this size that time was for; default: 1. */
  times?: number;
  now: number;
  /** Whether threads were not to change for a try; see `threadsFor`. */
  steady?: boolean;
}

interface Count {
  steps: number;
  ms: number;
}

const none: Count = { steps: 0, ms: 0 };

/** Another number of threads, compared with the present one. */
interface Trial {
  threads: number;
  /** Whether it began because steps were slow. */
  forced: boolean;
  since: number;
  /** Times of its steps, each against the usual one. */
  ratios: readonly number[];
  /** Those that could not be compared: it is not known what they usually take. */
  missed: Count;
  ms: number;
  lostMs: number;
}

const begun: Omit<Trial, "threads" | "forced" | "since"> = {
  ratios: [],
  missed: none,
  ms: 0,
  lostMs: 0,
};

class Group {
  threads: number;
  /** What a step takes with these threads, by its size. */
  readonly usual = new Map<number, number>();
  settled = none;
  slow = none;
  trial: Trial | undefined;
  /** Whether fewer threads are to be compared without a reason, as they are once in the beginning. */
  comparesFewer = true;
  fewerAt = 0;
  moreAt = 0;

  constructor(threads: number) {
    this.threads = threads;
  }

  settle(size: number, ms: number, fastest: number): void {
    const before = this.usual.get(size) ?? ms;
    this.usual.set(size, before + weight * (ms - before));
    this.settled = plus(this.settled, ms);
    this.slow = ms <= slowFactor * fastest ? none : plus(this.slow, ms - fastest);
  }
}

/** All threads at first, fewer while fewer are clearly faster: beside a busy program two can be 20 times slower than one. Steps that are made anyway are compared. */
export class StepThreads {
  readonly start: { threads: number; why: string };
  readonly #most: number;
  readonly #groups: readonly Group[];
  readonly #fastest = new Map<number, number>();
  /** The end and the threads of the last step. */
  #last = { at: Number.NEGATIVE_INFINITY, threads: 0 };
  readonly #onChange: NonNullable<StepThreadsOptions["onChange"]>;

  constructor({ size, budget, onChange = () => {} }: StepThreadsOptions) {
    this.start = startOf(size, budget);
    this.#most = this.start.threads;
    this.#onChange = onChange;
    const groups = size > large ? 1 : groupOf(Number.POSITIVE_INFINITY) + 1;
    this.#groups = Array.from({ length: groups }, () => new Group(this.#most));
  }

  /** `steady`: an answer in it has a seed; rounding differs with the threads, so none are tried. */
  threadsFor(tokens: number, steady = false): number {
    const { trial, threads, usual } = this.#group(tokens);
    if (trial === undefined) return threads;
    if (trial.forced) return trial.threads;
    const size = sizeOf(tokens);
    const usualMs = usual.get(size) ?? usual.get(size + 0.5);
    // Half as many take no more than twice as long, which is little of an answer.
    const isBounded = trial.threads < threads && groupOf(tokens) < prompts;
    const waitedMs = trial.threads > threads ? this.#last.at - trial.since : 0;
    const longestMs = Math.max(longestTriedMs, waitedMs / waitPerTriedMs);
    const isLong = usualMs === undefined || (usualMs > longestMs && !isBounded);
    return steady || isLong ? threads : trial.threads;
  }

  /** Whether a step of this size compares another number of threads with the present one. */
  isTrial(tokens: number, steady = false): boolean {
    return this.threadsFor(tokens, steady) !== this.#group(tokens).threads;
  }

  /** Says how long a step took. One that had other threads than it should have says nothing. */
  took({ tokens, threads, ms: whole, times = 1, now, steady = false }: TimedStep): void {
    const isCold = now - whole - this.#last.at > coldMs || threads !== this.#last.threads;
    const ms = whole / times;
    const wanted = this.threadsFor(tokens, steady);
    this.#last = { at: now, threads };
    if (this.#most === 1 || threads !== wanted) return;
    const group = this.#group(tokens);
    // Steps that wake threads are compared with each other, as those of one size are.
    const size = sizeOf(tokens) + (isCold ? 0.5 : 0);
    const fastest = this.#fastest.get(size) ?? ms;
    this.#fastest.set(size, Math.min(fastest, ms));
    if (group.trial !== undefined && threads !== group.threads) {
      const usualMs = group.usual.get(size) ?? group.usual.get(size + 0.5);
      this.#tried(group, group.trial, { usualMs, ms, now });
      return;
    }
    group.settle(size, ms, fastest);
    const forced = isEnough(group.slow, slowSteps, slowMs) && now >= group.fewerAt;
    // It goes on where steps that are too long for it come between.
    if (group.trial !== undefined && !forced) return;
    if (
      threads > 1 &&
      (forced || (group.comparesFewer && isEnough(group.settled, trySteps, tryMs) && !steady))
    ) {
      group.trial = { ...begun, threads: Math.floor(threads / 2), forced, since: now };
    } else if (threads < this.#most && now >= group.moreAt && !steady) {
      const more = Math.min(this.#most, threads * 2);
      group.trial = { ...begun, threads: more, forced: false, since: now };
    }
  }

  #tried(
    group: Group,
    trial: Trial,
    { usualMs, ms, now }: { usualMs: number | undefined; ms: number; now: number },
  ): void {
    if (usualMs === undefined) {
      trial.missed = plus(trial.missed, ms);
    } else {
      trial.ratios = [...trial.ratios, ms / usualMs];
      trial.ms += ms;
      trial.lostMs += Math.max(0, ms - usualMs);
    }
    const isHopeless = usualMs !== undefined && ms > slowFactor * usualMs;
    // Each wakes its threads where steps with others come between, or those that follow have other sizes.
    const isMissed = trial.missed.steps >= trySteps;
    const compared = { steps: trial.ratios.length, ms: trial.ms };
    if (!isHopeless && !isMissed && !isEnough(compared, trySteps, tryMs)) return;
    const isFewer = trial.threads < group.threads;
    group.trial = undefined;
    group.slow = none;
    if (isFewer) group.comparesFewer = false;
    const ratio = median(trial.ratios);
    // Slow steps are reason enough then: with fewer threads these sizes become known, and more are tried.
    const isUnknown = trial.forced && trial.ratios.length === 0;
    if (!isUnknown && (isHopeless || ratio >= (isFewer ? clearlyFaster : 1))) {
      const lostMs = trial.lostMs + (isMissed && !trial.forced ? trial.missed.ms : 0);
      const pause = Math.max(shortestPauseMs, pausePerLostMs * lostMs);
      const at = now + Math.min(pause, longestPauseMs);
      if (isFewer) group.fewerAt = at;
      else group.moreAt = at;
      return;
    }
    group.threads = trial.threads;
    group.usual.clear();
    group.settled = none;
    group.comparesFewer = isFewer;
    group.moreAt = isFewer ? now + shortestPauseMs : now;
    const why = isUnknown ? "steps were slow" : `steps take ${ratio.toFixed(2)} of the time`;
    this.#onChange(trial.threads, why);
  }

  #group(tokens: number): Group {
    const group = this.#groups[Math.min(groupOf(tokens), this.#groups.length - 1)];
    if (group === undefined) throw new Error("a step of no tokens");
    return group;
  }
}

function startOf(size: number, budget: number): StepThreads["start"] {
  if (budget === 1) return { threads: 1, why: "the budget is one" };
  if (size <= tiny) return { threads: 1, why: "its steps are too short for a second thread" };
  return { threads: budget, why: "the whole budget, until fewer are clearly faster" };
}

const plus = ({ steps, ms }: Count, more: number): Count => ({ steps: steps + 1, ms: ms + more });

const isEnough = (counted: Count, steps: number, ms: number): boolean =>
  counted.steps >= steps || counted.ms >= ms;

/** One token, a few answers side by side, or a prompt. */
const groupOf = (tokens: number): number => (tokens === 1 ? 0 : tokens <= 4 ? 1 : prompts);
const prompts = 2;

/** Steps of up to twice as many tokens are compared with each other. */
const sizeOf = (tokens: number): number => Math.ceil(Math.log2(tokens));

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 1;

export interface StepReport {
  /** Which step has been in progress for longest: they are numbered as they begin. Absent: none is. */
  oldest?: number;
  /** The usual time of the longest one in progress. */
  usualMs?: number;
}

/** A step that takes more than this many times as long, for example since the process was stopped, counts as this. */
const mostLonger = 10;

/** What a process computes, for its heartbeats. A step is a batch of a chat model, or a text that is embedded or ranked. */
export class StepWatch {
  #begun = 0;
  /** Their tokens, by their numbers. */
  readonly #open = new Map<number, number>();
  /** What a step takes, by its size: all of up to twice as many tokens are one. */
  readonly #usual = new Map<number, number>();

  /** Runs a step; `tokens` is 0 for one that computes none, such as a copy of the cache, and is not timed. */
  async run<Result>(tokens: number, compute: () => Promise<Result>): Promise<Result> {
    const number = this.#begun++;
    const startedAt = performance.now();
    this.#open.set(number, tokens);
    try {
      const result = await compute();
      if (tokens > 0) this.#took(tokens, performance.now() - startedAt);
      return result;
    } finally {
      this.#open.delete(number);
    }
  }

  report(): StepReport {
    const [oldest] = this.#open.keys();
    if (oldest === undefined) return {};
    const usual = [...this.#open.values()].map((tokens) => this.#usualMs(tokens));
    return { oldest, usualMs: Math.max(...usual) };
  }

  #took(tokens: number, ms: number): void {
    const size = sizeOf(tokens);
    const whole = (ms * 2 ** size) / tokens;
    const before = this.#usual.get(size) ?? whole;
    this.#usual.set(size, before + weight * (Math.min(whole, before * mostLonger) - before));
  }

  /** A size that was never seen is scaled from others. The quickest counts: the first step may have compiled something. */
  #usualMs(tokens: number): number {
    if (tokens === 0) return 0;
    const size = sizeOf(tokens);
    const own = this.#usual.get(size);
    if (own !== undefined) return own;
    const scaled = [...this.#usual].map(([seen, ms]) => ms * 2 ** Math.max(0, size - seen));
    return scaled.length === 0 ? 0 : Math.min(...scaled);
  }
}
