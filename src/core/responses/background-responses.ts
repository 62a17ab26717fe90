/** Background responses: some run at once, others wait, callers in turn; each change is saved. A run holds its caller's place until `ended` settles, and its time begins with its turn. */
import { pause } from "../abort.ts";
import { type ErrorKind, NodeError, reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type {
  ResponseChange,
  ResponseFailure,
  ResponseStore,
  SavedResponse,
} from "../ports/response-store.ts";

export interface BackgroundOptions {
  store: ResponseStore;
  /** Whether this process runs background responses: only the owner may fail unfinished ones. */
  ownership: { take(): boolean; check(): void };
  maxRunning: number;
  /** How many more may wait; of one caller at most half of what the others leave, so that some is left for the next. */
  maxQueue: number;
  /** 0: no limit. */
  timeoutMs: () => number;
  log: Log;
}

export interface BackgroundRequest {
  /** Stored until it is finished; its status does not matter. */
  response: SavedResponse;
  caller: string;
  /** Called once its turn has come; the outcome is `completed`, `incomplete` or `failed`. Ends early, and may throw, if the signal aborts. */
  work: (signal: AbortSignal) => Promise<ResponseChange>;
}

interface Run extends Pick<BackgroundRequest, "caller" | "work"> {
  id: string;
  /** `saving`: being saved for the first time; it cannot run before. */
  state: "saving" | "waiting" | "running";
  stop: AbortController;
  ended: PromiseWithResolvers<void>;
}

export class BackgroundResponses implements AsyncDisposable {
  readonly #options: BackgroundOptions;
  readonly #runs = new Map<string, Run>();
  readonly #turns = new Map<string, number>();
  #turn = 0;
  #recovered: Promise<void> | undefined;
  #hasStopped = false;

  constructor(options: BackgroundOptions) {
    this.#options = options;
  }

  /** Fails what a dead process left unfinished; does nothing if another process owns it. */
  async recover(): Promise<void> {
    const { store, ownership } = this.#options;
    // Without unfinished responses, nothing is written, not even the lock.
    if (this.#hasStopped || this.#recovered !== undefined) return;
    if ((await store.hasUnfinished()) && ownership.take()) await this.#own();
  }

  /** Throws if too many are waiting. `ended` settles when the run has ended, however; it never rejects. */
  async start({ response, caller, work }: BackgroundRequest): Promise<{ ended: Promise<void> }> {
    const { store, ownership } = this.#options;
    if (this.#hasStopped) throw nodeStopped();
    ownership.check();
    await this.#own();
    // The node may have stopped meanwhile, and nothing would end a run that joins now.
    if (this.#hasStopped) throw nodeStopped();
    const { id } = response;
    const stop = new AbortController();
    const ended = Promise.withResolvers<void>();
    const run: Run = { id, caller, work, state: "saving", stop, ended };
    this.#join(run);
    try {
      await store.save({ ...response, status: "queued", isBackground: true });
    } catch (error) {
      this.#end(run);
      throw error;
    }
    run.state = "waiting";
    if (stop.signal.aborted) void this.#fail(run, nodeStopped()).then(() => this.#end(run));
    this.#takeTurns();
    return { ended: ended.promise };
  }

  /** Stops the run, if this process has it; the caller updates what is stored. */
  abort(id: string): void {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    run.stop.abort(new NodeError("unavailable", "The response was cancelled."));
    if (run.state === "waiting") this.#end(run);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#hasStopped = true;
    const runs = [...this.#runs.values()];
    for (const run of runs) {
      run.stop.abort(nodeStopped());
      if (run.state === "waiting") void this.#fail(run, nodeStopped()).then(() => this.#end(run));
    }
    await Promise.all(runs.map(({ ended }) => ended.promise));
  }

  #join(run: Run): void {
    const { maxRunning, maxQueue } = this.#options;
    const waiting = [...this.#runs.values()].filter(({ state }) => state !== "running");
    const own = waiting.filter(({ caller }) => caller === run.caller);
    const free = Math.max(0, maxRunning - (this.#runs.size - waiting.length));
    const isFull = waiting.length >= free + maxQueue;
    const others = Math.max(0, waiting.length - own.length - free);
    if (isFull || own.length >= free + Math.ceil((maxQueue - others) / 2)) {
      const why = `Too many responses${isFull ? "" : " of this caller"} wait to be made in the background. Retry when some of them are done.`;
      throw new NodeError("overloaded", why, { param: "background" });
    }
    this.#runs.set(run.id, run);
  }

  /** Callers are served round robin: next is the one whose last turn was longest ago. */
  #takeTurns(): void {
    if (this.#hasStopped) return;
    const runs = [...this.#runs.values()];
    const running = runs.filter(({ state }) => state === "running").length;
    const turnOf = ({ caller }: Run): number => this.#turns.get(caller) ?? 0;
    for (let free = this.#options.maxRunning - running; free > 0; free--) {
      const waiting = runs.filter(({ state }) => state === "waiting");
      const [next] = waiting.toSorted((one, other) => turnOf(one) - turnOf(other));
      if (next === undefined) return;
      this.#turns.set(next.caller, ++this.#turn);
      next.state = "running";
      void this.#run(next);
    }
  }

  async #run(run: Run): Promise<void> {
    const { store, log } = this.#options;
    const { id, stop } = run;
    try {
      if (await store.change(id, { status: "in_progress" })) {
        await this.#keep(run, await this.#make(run));
      }
    } catch (error) {
      if (!(error instanceof NodeError)) log.error("a response failed", { id, error });
      else if (!stop.signal.aborted) log.warn("a response failed", { id, reason: error.message });
      await this.#fail(run, error);
    } finally {
      this.#end(run);
    }
  }

  async #make({ work, stop }: Run): Promise<ResponseChange> {
    stop.signal.throwIfAborted();
    const ms = this.#options.timeoutMs();
    const why = `The response took longer than the ${ms / 1000} s that this node allows. Ask for fewer tokens, or raise limits.request_timeout.`;
    const late = new AbortController();
    const end = (): void => late.abort(new NodeError("timeout", why));
    const timer = ms === 0 ? undefined : setTimeout(end, ms);
    try {
      return await work(AbortSignal.any([stop.signal, late.signal]));
    } finally {
      clearTimeout(timer);
    }
  }

  async #fail(run: Run, error: unknown): Promise<void> {
    const change: ResponseChange = { status: "failed", failure: toFailure(error) };
    await this.#keep(run, change).catch((cause: unknown) => {
      const fields = { id: run.id, reason: reasonOf(cause) };
      this.#options.log.error("a response has failed, which could not be saved", fields);
    });
  }

  /** Retries, so that a disk that is full for a while loses no response; the run keeps its place meanwhile. */
  async #keep({ id, stop }: Run, change: ResponseChange): Promise<void> {
    for (let waitMs = 1000; ; waitMs = Math.min(2 * waitMs, 30_000)) {
      try {
        await this.#options.store.change(id, change);
        return;
      } catch (error) {
        const isAway = error instanceof NodeError && error.kind === "unavailable";
        if (!isAway || stop.signal.aborted) throw error;
        const fields = { id, reason: error.message };
        this.#options.log.warn("a response cannot be saved, which is tried again", fields);
        await pause(waitMs, stop.signal);
      }
    }
  }

  #end(run: Run): void {
    this.#runs.delete(run.id);
    const isLast = !this.#runs.values().some(({ caller }) => caller === run.caller);
    if (isLast) this.#turns.delete(run.caller);
    run.ended.resolve();
    this.#takeTurns();
  }

  /** Runs before anything new begins: whatever is unfinished then belongs to a dead process. */
  async #own(): Promise<void> {
    const { store, log } = this.#options;
    const message = "The node ended before the response was made. Try again.";
    this.#recovered ??= store
      .failUnfinished({ code: "server_error", message })
      .then((left) => {
        if (left === 0) return;
        log.warn("responses that were being made when the node ended have failed", { left });
      })
      .catch((error: unknown) => {
        this.#recovered = undefined;
        throw error;
      });
    await this.#recovered;
  }
}

/** Codes of OpenAI's API; all others are `server_error`. */
const codes: Partial<Record<ErrorKind, string>> = {
  invalid_request: "invalid_prompt",
  context_length_exceeded: "invalid_prompt",
  payload_too_large: "invalid_prompt",
  too_many_requests: "rate_limit_exceeded",
  too_many_tokens: "rate_limit_exceeded",
};

export function toFailure(error: unknown): ResponseFailure {
  if (!(error instanceof NodeError)) {
    const message = "The node failed to make this response. The log has the reason under its id.";
    return { code: "server_error", message };
  }
  return { code: codes[error.kind] ?? "server_error", message: error.message };
}

const nodeStopped = (): NodeError =>
  new NodeError("unavailable", "The node stopped before the response was made. Try again.");
