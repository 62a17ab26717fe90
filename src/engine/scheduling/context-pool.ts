/** Contexts over one set of weights, which compute the jobs of several requests in turn. */
import { NodeError } from "../../core/errors.ts";
import { JobQueue } from "./job-queue.ts";

interface Job<Input, Result> {
  input: Input;
  signal: AbortSignal;
  start: () => void;
  resolve: (result: Result) => void;
  reject: (reason: unknown) => void;
}

export interface PoolOptions<Context, Input, Result> {
  contexts: readonly Context[];
  /** What tells long jobs from short ones. */
  sizeOf: (input: Input) => number;
  /** `isAlone`: nothing else is computed, or waits. */
  compute: (context: Context, input: Input, isAlone: boolean) => Promise<Result>;
}

export class ContextPool<Context, Input, Result> {
  readonly #options: PoolOptions<Context, Input, Result>;
  readonly #idle: Context[];
  readonly #jobs = new JobQueue<Job<Input, Result>>();
  readonly #working = new Set<Promise<void>>();
  #isClosed = false;
  #computing = 0;

  constructor(options: PoolOptions<Context, Input, Result>) {
    this.#options = options;
    this.#idle = [...options.contexts];
  }

  /** Computes a request's jobs; `onStart` is called once, when the first of them leaves the queue. */
  async run(
    inputs: readonly Input[],
    { signal, onStart }: { signal: AbortSignal; onStart?: () => void },
  ): Promise<Result[]> {
    if (this.#isClosed) throw unloaded();
    const { sizeOf } = this.#options;
    let waits = true;
    const start = (): void => {
      if (waits) onStart?.();
      waits = false;
    };
    const jobs: Job<Input, Result>[] = [];
    const results = inputs.map((input) => {
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      jobs.push({ input, signal, start, resolve, reject });
      return promise;
    });
    this.#jobs.add(jobs, ({ input }) => sizeOf(input));
    for (const context of this.#idle.splice(0)) {
      const work = this.#work(context);
      this.#working.add(work);
      void work.then(() => this.#working.delete(work));
    }
    return await Promise.all(results);
  }

  /** Fails what waits, and waits for what is being computed, which still reads the weights. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (let job = this.#jobs.next(); job !== undefined; job = this.#jobs.next()) {
      job.reject(unloaded());
    }
    await Promise.all(this.#working);
  }

  /** Computes jobs on one context until there are none. */
  async #work(context: Context): Promise<void> {
    for (let job = this.#jobs.next(); job !== undefined; job = this.#jobs.next()) {
      try {
        job.signal.throwIfAborted();
        job.start();
        const isAlone = this.#computing === 0 && this.#jobs.empty;
        this.#computing++;
        job.resolve(
          await this.#options
            .compute(context, job.input, isAlone)
            .finally(() => void this.#computing--),
        );
      } catch (error) {
        job.reject(error);
      }
    }
    this.#idle.push(context);
  }
}

const unloaded = (): NodeError => new NodeError("unavailable", "The model is being unloaded.");
