/** Contexts over one set of weights, which compute the jobs of several requests in turn. */
import { NodeError } from "../../core/errors.ts";
import { nextTurn } from "../../core/turns.ts";
import type { StepWatch } from "../machine/steps.ts";

interface RunOptions {
  signal: AbortSignal;
  /** Whose they are; default: one caller for all. */
  caller?: string;
  onStart?: () => void;
  /** Whether they let others go first; default: false. */
  background?: boolean;
}

interface Job<Input, Result> extends PromiseWithResolvers<Result> {
  input: Input;
  signal: AbortSignal;
  background: boolean;
  start: () => void;
}

/** What else is computed at the same time. */
interface ConcurrentJobs {
  /** Whether that is nothing but jobs that let others go first, and nothing waits; never for such a job. */
  isAlone: boolean;
  inBackground: number;
}

/** What a context computes at once. */
export interface Packing {
  mostJobs: number;
  mostSize: number;
  /** Jobs of less than this in all are computed one by one; default: 0. */
  leastSize?: number;
  /** Whether a context takes all that fit, rather than leave the others their share; default: false. */
  fills?: boolean;
}

interface PoolOptions<Context, Input, Result> {
  contexts: readonly Context[];
  steps: StepWatch;
  /** What tells long jobs from short ones. */
  sizeOf: (input: Input) => number;
  packing: Packing;
  compute: (
    context: Context,
    inputs: readonly Input[],
    others: ConcurrentJobs,
  ) => Promise<Result[]>;
  /** Called once nothing computes any more. */
  onClose?: () => void;
}

export class ContextPool<Context, Input, Result> {
  readonly #options: PoolOptions<Context, Input, Result>;
  readonly #idle: Context[];
  /** Requests by caller. Served round robin: one job of each caller in turn, and of each of its requests. A request's smallest is first, so that the largest is popped. */
  readonly #waiting = new Map<string, Job<Input, Result>[][]>();
  readonly #working = new Set<Promise<void>>();
  #isClosed = false;
  readonly #computing = { asked: 0, background: 0 };

  constructor(options: PoolOptions<Context, Input, Result>) {
    this.#options = options;
    this.#idle = [...options.contexts];
  }

  /** Computes a request's jobs; `onStart` is called once, when the first of them leaves the queue. */
  async run(
    inputs: readonly Input[],
    { signal, caller = "", onStart, background = false }: RunOptions,
  ): Promise<Result[]> {
    if (this.#isClosed) throw unloaded();
    const { sizeOf } = this.#options;
    let waits = true;
    const start = (): void => {
      if (waits) onStart?.();
      waits = false;
    };
    const jobs = inputs.map((input) => {
      const waiting = { input, signal, background, start };
      return { ...waiting, ...Promise.withResolvers<Result>() };
    });
    if (jobs.length > 0) {
      const requests = this.#waiting.get(caller) ?? [];
      requests.push(jobs.toSorted((a, b) => sizeOf(a.input) - sizeOf(b.input)));
      this.#waiting.set(caller, requests);
    }
    // The last one that was used comes first: it has its threads already.
    for (const context of this.#idle.splice(0).toReversed()) {
      const work = this.#work(context);
      this.#working.add(work);
      void work.then(() => this.#working.delete(work));
    }
    return await Promise.all(jobs.map(({ promise }) => promise));
  }

  /** Fails waiting jobs, and waits for running ones, which still read the weights. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of [...this.#waiting.values()].flat(2)) job.reject(unloaded());
    this.#waiting.clear();
    await Promise.all(this.#working);
    this.#options.onClose?.();
  }

  async #work(context: Context): Promise<void> {
    for (;;) {
      // What has come meanwhile is read: it may fit, and a job that is not alone gets other threads.
      await nextTurn();
      const jobs = this.#next();
      if (jobs.length === 0) break;
      try {
        for (const job of jobs) job.start();
        const results = await this.#compute(context, jobs);
        for (const [at, job] of jobs.entries()) {
          const result = results[at];
          if (result === undefined) throw new NodeError("internal", "A text was not computed.");
          job.resolve(result);
        }
      } catch (error) {
        for (const job of jobs) job.reject(error);
      }
    }
    this.#idle.push(context);
  }

  /** Jobs that fit together, one of each caller in turn. */
  #next(): Job<Input, Result>[] {
    const { packing, sizeOf, contexts } = this.#options;
    const { mostJobs, mostSize, leastSize = 0, fills = false } = packing;
    const all = [...this.#waiting.values()].flat();
    const waiting = all.reduce((sum, jobs) => sum + jobs.length, 0);
    const share = Math.min(mostJobs, fills ? waiting : Math.ceil(waiting / contexts.length));
    const together: Job<Input, Result>[] = [];
    let size = 0;
    while (together.length < share) {
      const [[caller, requests] = ["", []]] = this.#waiting;
      const [jobs] = requests;
      const job = jobs?.at(-1);
      if (jobs === undefined || job === undefined) break;
      const [first = job] = together;
      const isFitting =
        size + sizeOf(job.input) <= mostSize &&
        share * sizeOf(first.input) >= leastSize &&
        job.background === first.background;
      if (together.length > 0 && !isFitting) break;
      jobs.pop();
      requests.shift();
      if (jobs.length > 0) requests.push(jobs);
      this.#waiting.delete(caller);
      if (requests.length > 0) this.#waiting.set(caller, requests);
      if (job.signal.aborted) {
        job.reject(job.signal.reason);
        continue;
      }
      size += sizeOf(job.input);
      together.push(job);
    }
    return together;
  }

  async #compute(context: Context, jobs: readonly Job<Input, Result>[]): Promise<Result[]> {
    const background = jobs[0]?.background === true;
    const { asked, background: inBackground } = this.#computing;
    const isAlone = !background && asked === 0 && this.#waiting.size === 0;
    const kind = background ? "background" : "asked";
    this.#computing[kind]++;
    try {
      const { steps, sizeOf, compute } = this.#options;
      const others = { isAlone: isAlone && jobs.length === 1, inBackground };
      const inputs = jobs.map(({ input }) => input);
      const size = inputs.reduce((sum, input) => sum + sizeOf(input), 0);
      return await steps.run(size, () => compute(context, inputs, others));
    } finally {
      this.#computing[kind]--;
    }
  }
}

const unloaded = (): NodeError => new NodeError("unavailable", "The model is being unloaded.");
