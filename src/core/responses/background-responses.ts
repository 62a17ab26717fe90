/**
 * Background responses: some run at the same time, others wait in a queue, callers in turn. Each
 * change is saved, so that a caller sees it even after a restart.
 *
 * A run counts as a request in progress until `ended` settles: it uses a place of its caller's
 * `concurrency`, and its tokens count as the request's. Its time, `limits.request_timeout`, begins
 * when its turn comes.
 */
import { pause } from "../abort.ts";
import { type ErrorKind, NodeError, reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type {
  ResponseChange,
  ResponseFailure,
  ResponseStore,
  SavedResponse,
} from "../ports/response-store.ts";

export interface BackgroundOptions extends QueueBounds {
  store: ResponseStore;
  /** Whether this process runs background responses: only the owner may fail unfinished ones. */
  ownership: { take(): boolean; check(): void };
  /** How long a response may take; 0: no limit. */
  timeoutMs: () => number;
  log: Log;
}

export interface BackgroundRequest {
  /** Stored until it is finished; its status does not matter. */
  response: SavedResponse;
  /** Runs of the same caller count together. */
  caller: string;
  /** Generates the response, once its turn has come; ends early, and may throw, if the signal aborts. */
  work: BackgroundWork;
}

/** An accepted response, stored as `queued`. */
export interface BackgroundStart {
  /** Settles when its run has ended, however it ended; never rejects. */
  ended: Promise<void>;
}

export class BackgroundResponses implements AsyncDisposable {
  readonly #options: BackgroundOptions;
  readonly #queue: BackgroundQueue;
  #recovered: Promise<number> | undefined;
  #hasStopped = false;

  constructor(options: BackgroundOptions) {
    this.#options = options;
    this.#queue = new BackgroundQueue(options);
  }

  /** Fails what a dead process left unfinished; does nothing if another process owns it. */
  async recover(): Promise<void> {
    const { store, ownership } = this.#options;
    // Without unfinished responses, nothing is written, not even the lock.
    if (this.#hasStopped || this.#recovered !== undefined) return;
    if ((await store.hasUnfinished()) && ownership.take()) await this.#own();
  }

  /** Stores it as `queued`, and runs it when its turn comes; throws if too many are waiting. */
  async start({ response, caller, work }: BackgroundRequest): Promise<BackgroundStart> {
    const { store, ownership } = this.#options;
    if (this.#hasStopped) throw nodeStopped();
    ownership.check();
    await this.#own();
    // The node may have stopped meanwhile, and nothing would end a run that joins now.
    if (this.#hasStopped) throw nodeStopped();
    const queued: SavedResponse = { ...response, status: "queued", isBackground: true };
    const run = new BackgroundRun(queued.id, caller, work);
    this.#queue.join(run);
    try {
      await store.save(queued);
    } catch (error) {
      this.#end(run);
      throw error;
    }
    run.state = "waiting";
    if (run.signal.aborted) void this.#fail(run, nodeStopped()).then(() => this.#end(run));
    this.#takeTurns();
    return { ended: run.ended };
  }

  /** Stops the run, if this process has it; the caller updates what is stored. */
  abort(id: string): void {
    const run = this.#queue.get(id);
    if (run === undefined) return;
    run.abort(new NodeError("unavailable", "The response was cancelled."));
    if (run.state === "waiting") this.#end(run);
  }

  /** Stops all runs, and stores them as failed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#hasStopped = true;
    const runs = this.#queue.all;
    for (const run of runs) {
      run.abort(nodeStopped());
      if (run.state === "waiting") void this.#fail(run, nodeStopped()).then(() => this.#end(run));
    }
    await Promise.all(runs.map(({ ended }) => ended));
  }

  #takeTurns(): void {
    if (this.#hasStopped) return;
    for (let next = this.#queue.next(); next !== undefined; next = this.#queue.next()) {
      next.state = "running";
      void this.#run(next);
    }
  }

  async #run(run: BackgroundRun): Promise<void> {
    const { store, log, timeoutMs } = this.#options;
    try {
      if (await store.change(run.id, { status: "in_progress" })) {
        await this.#keep(run, await run.make(timeoutMs()));
      }
    } catch (error) {
      if (!(error instanceof NodeError)) log.error("a response failed", { id: run.id, error });
      else if (!run.signal.aborted) {
        log.warn("a response failed", { id: run.id, reason: error.message });
      }
      await this.#fail(run, error);
    } finally {
      this.#end(run);
    }
  }

  async #fail(run: BackgroundRun, error: unknown): Promise<void> {
    const change: ResponseChange = { status: "failed", failure: toFailure(error) };
    await this.#keep(run, change).catch((cause: unknown) => {
      const reason = reasonOf(cause);
      this.#options.log.error("a response has failed, which could not be saved", {
        ...{ id: run.id, reason },
      });
    });
  }

  /** Retries, so that a disk that is full for a while loses no response; the run keeps its place meanwhile. */
  async #keep(run: BackgroundRun, change: ResponseChange): Promise<void> {
    for (let waitMs = 1000; ; waitMs = Math.min(2 * waitMs, 30_000)) {
      try {
        await this.#options.store.change(run.id, change);
        return;
      } catch (error) {
        const isAway = error instanceof NodeError && error.kind === "unavailable";
        if (!isAway || run.signal.aborted) throw error;
        this.#options.log.warn("a response cannot be saved, which is tried again", {
          ...{ id: run.id, reason: error.message },
        });
        await pause(waitMs, run.signal);
      }
    }
  }

  #end(run: BackgroundRun): void {
    this.#queue.leave(run);
    run.end();
    this.#takeTurns();
  }

  /** Runs before anything new begins: whatever is unfinished then belongs to a dead process. */
  async #own(): Promise<void> {
    this.#recovered ??= this.#failLeft();
    await this.#recovered;
  }

  async #failLeft(): Promise<number> {
    const { store, log } = this.#options;
    try {
      const left = await store.failUnfinished(toFailure(leftBehind()));
      if (left > 0) {
        log.warn("responses that were being made when the node ended have failed", { left });
      }
      return left;
    } catch (error) {
      this.#recovered = undefined;
      throw error;
    }
  }
}

const leftBehind = (): NodeError =>
  new NodeError("unavailable", "The node ended before the response was made. Try again.");

/** Codes of OpenAI's API; all others are `server_error`. */
const codes: Partial<Record<ErrorKind, string>> = {
  invalid_request: "invalid_prompt",
  context_length_exceeded: "invalid_prompt",
  payload_too_large: "invalid_prompt",
  too_many_requests: "rate_limit_exceeded",
  too_many_tokens: "rate_limit_exceeded",
};

/** Converts an error to the API's failure. Unexpected errors reveal no internals. */
export function toFailure(error: unknown): ResponseFailure {
  if (!(error instanceof NodeError)) {
    return {
      code: "server_error",
      message: "The node failed to make this response. The log has the reason under its id.",
    };
  }
  return { code: codes[error.kind] ?? "server_error", message: error.message };
}

const nodeStopped = (): NodeError =>
  new NodeError("unavailable", "The node stopped before the response was made. Try again.");

interface QueueBounds {
  /** How many run at the same time. */
  maxRunning: number;
  /** How many more may wait; at most half of them of one caller. */
  maxQueue: number;
}

/** The runs: some are running, the others wait in a bounded queue; callers are served round robin. */
class BackgroundQueue {
  readonly #bounds: QueueBounds;
  readonly #runs = new Map<string, BackgroundRun>();
  /** The number of each caller's last turn. */
  readonly #turns = new Map<string, number>();
  #turn = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  get all(): readonly BackgroundRun[] {
    return [...this.#runs.values()];
  }

  get(id: string): BackgroundRun | undefined {
    return this.#runs.get(id);
  }

  /** Throws if there is no place. */
  join(run: BackgroundRun): void {
    const { maxRunning, maxQueue } = this.#bounds;
    const waiting = this.all.filter(({ state }) => state !== "running");
    const free = Math.max(0, maxRunning - (this.#runs.size - waiting.length));
    const isFull = waiting.length >= free + maxQueue;
    const isGreedy = countOf(waiting, run.caller) >= free + Math.ceil(maxQueue / 2);
    if (isFull || isGreedy) {
      throw new NodeError(
        "overloaded",
        `Too many responses${isFull ? "" : " of this caller"} wait to be made in the background. Retry when some of them are done.`,
        { param: "background" },
      );
    }
    this.#runs.set(run.id, run);
  }

  leave(run: BackgroundRun): void {
    this.#runs.delete(run.id);
    if (countOf(this.all, run.caller) === 0) this.#turns.delete(run.caller);
  }

  /** The next run: the first of the caller whose last turn was longest ago. */
  next(): BackgroundRun | undefined {
    const running = this.all.filter(({ state }) => state === "running");
    if (running.length >= this.#bounds.maxRunning) return undefined;
    const turnOf = ({ caller }: BackgroundRun): number => this.#turns.get(caller) ?? 0;
    const [next] = this.all
      .filter(({ state }) => state === "waiting")
      .toSorted((one, other) => turnOf(one) - turnOf(other));
    if (next !== undefined) this.#turns.set(next.caller, ++this.#turn);
    return next;
  }
}

const countOf = (runs: readonly BackgroundRun[], caller: string): number =>
  runs.reduce((sum, run) => sum + Number(run.caller === caller), 0);

/** Generates a response; returns the outcome: `completed`, `incomplete` or `failed`. */
type BackgroundWork = (signal: AbortSignal) => Promise<ResponseChange>;

/** `saving`: being saved for the first time; it cannot run before. */
type RunState = "saving" | "waiting" | "running";

/** The run of one background response: its state, its timeout and its end. */
class BackgroundRun {
  readonly id: string;
  readonly caller: string;
  state: RunState = "saving";
  readonly #work: BackgroundWork;
  readonly #stop = new AbortController();
  readonly #ended = Promise.withResolvers<void>();

  constructor(id: string, caller: string, work: BackgroundWork) {
    this.id = id;
    this.caller = caller;
    this.#work = work;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  abort(reason: NodeError): void {
    this.#stop.abort(reason);
  }

  /** `timeoutMs`: how long it may take; 0: no limit. */
  async make(timeoutMs: number): Promise<ResponseChange> {
    this.signal.throwIfAborted();
    const late = new AbortController();
    const timer =
      timeoutMs === 0 ? undefined : setTimeout(() => late.abort(overdue(timeoutMs)), timeoutMs);
    try {
      return await this.#work(AbortSignal.any([this.signal, late.signal]));
    } finally {
      clearTimeout(timer);
    }
  }

  end(): void {
    this.#ended.resolve();
  }
}

const overdue = (ms: number): NodeError =>
  new NodeError(
    "timeout",
    `The response took longer than the ${ms / 1000} s that this node allows. Ask for fewer tokens, or raise limits.request_timeout.`,
  );
