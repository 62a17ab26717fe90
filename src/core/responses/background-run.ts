/** One response that is made in the background: its turn, its time and its end. */
import { NodeError } from "../errors.ts";
import type { ResponseChange } from "../ports/response-store.ts";

/** Makes a response: what it has become, `completed`, `incomplete` or `failed`. */
export type BackgroundWork = (signal: AbortSignal) => Promise<ResponseChange>;

/** `saving`: it is being kept for the first time, and nothing else is done for it before. */
type RunState = "saving" | "waiting" | "running";

export class BackgroundRun {
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

  /** `timeoutMs`: how long it may take; 0: no bound. */
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
