/** A model's calls until they are answered, across restarts of its process. */
import { copyOf, NodeError } from "../core/errors.ts";
import { FairQueue } from "../core/limits/fair-queue.ts";
import { type Call, type CallItem, fromSentError, isLarge, isLast, serialize } from "./protocol.ts";
import type { RunnerProcess } from "./runner-process.ts";

/** Receives the items of a call, or its failure if the process dies. */
export interface CallListener {
  hear(item: CallItem): void;
  fail(error: Error): void;
}

interface Entry {
  call: Call;
  /** The serialized call, while it waits to be sent. */
  text?: string | undefined;
  listener: CallListener;
  isDispatched: boolean;
  /** Whether it left the model's queue; its answer is then lost with the process. */
  isStarted: boolean;
  attempts: number;
  /** Whether it was cancelled; it stays here until the process is done with it. */
  isCancelled: boolean;
}

/** A call that is not sent yet, serialized. */
interface Waiting {
  id: number;
  entry: Entry;
  call: string;
}

const waiting = { isDispatched: false, isStarted: false, attempts: 0, isCancelled: false };

/** A call that only waited is retried, but not for ever: it may be the cause of the crashes. */
const mostAttempts = 3;

/** Other calls are too short to divide the threads for. */
const computing: ReadonlySet<Call["type"]> = new Set(["generate", "embed", "rank"]);

export class PendingCalls {
  readonly #entries = new Map<number, Entry>();
  readonly #onChange: () => void;
  #nextId = 1;
  /** A large call that the process has not read yet. */
  #unread: number | undefined;
  /** Whether the last large call that was sent was the oldest. */
  #wasOldest = false;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#entries.size;
  }

  get dispatched(): number {
    return [...this.#entries.values()].filter(({ isDispatched }) => isDispatched).length;
  }

  get computes(): boolean {
    return [...this.#entries.values()].some(({ call: { type } }) => computing.has(type));
  }

  add(call: Call, listener: CallListener): number {
    const id = this.#nextId++;
    this.#entries.set(id, { ...waiting, call, listener });
    this.#onChange();
    return id;
  }

  /** Refuses the last waiting call of the caller with the most, if this one has fewer; returns whether it did. */
  makeRoom(caller: string, error: NodeError): boolean {
    const unsent = [...this.#entries.values()].filter(({ isDispatched }) => !isDispatched);
    const queue = new FairQueue<Entry | undefined>(unsent.length);
    for (const entry of unsent) queue.join(callerOf(entry.call), entry);
    const lost = queue.admits(caller) ? queue.join(caller, undefined) : undefined;
    return lost !== undefined && this.#fail((entry) => entry === lost, error) > 0;
  }

  dispatchTo(process: Pick<RunnerProcess, "send">): void {
    const large: Waiting[] = [];
    for (const [id, entry] of this.#entries) {
      if (entry.isDispatched) continue;
      const call = entry.text ?? serialize(entry.call);
      if (isLarge(call)) {
        entry.text = call;
        large.push({ id, entry, call });
      } else dispatch({ id, entry, call }, process);
    }
    const next = this.#unread === undefined ? this.#nextOf(large) : undefined;
    if (next === undefined) return;
    this.#unread = next.id;
    dispatch(next, process);
  }

  /** By turns the oldest, and the smallest: else it waits for seconds behind another caller's huge ones. */
  #nextOf([oldest, ...others]: readonly Waiting[]): Waiting | undefined {
    if (oldest === undefined) return undefined;
    this.#wasOldest = !this.#wasOldest;
    if (this.#wasOldest) return oldest;
    return others.reduce(
      (least, one) => (one.call.length < least.call.length ? one : least),
      oldest,
    );
  }

  receive(items: readonly { id: number; item: CallItem }[]): void {
    for (const { id, item } of items) {
      if (item.type === "read") {
        this.#unread = undefined;
        continue;
      }
      const entry = this.#entries.get(id);
      if (entry === undefined) continue;
      if (item.type === "start") entry.isStarted = true;
      if (isLast(item)) this.#forget(id);
      if (item.type === "error") entry.listener.fail(fromSentError(item.error));
      else entry.listener.hear(item);
    }
  }

  /** Ends a call at once if no process has it, else when the process confirms. */
  cancel(id: number, process: RunnerProcess | undefined): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.isCancelled) return;
    entry.isCancelled = true;
    if (entry.isDispatched) process?.send({ type: "cancel", id });
    else this.#fail((candidate) => candidate === entry, notWanted());
  }

  #forget(id: number): void {
    if (this.#entries.delete(id)) this.#onChange();
  }

  /** The process died: started calls fail, others wait for the next. Returns how many failed. */
  loseProcess(error: NodeError): number {
    this.#unread = undefined;
    this.#fail(({ isCancelled }) => isCancelled, notWanted());
    const lost = this.#fail(
      ({ isStarted, attempts }) => isStarted || attempts >= mostAttempts,
      error,
    );
    for (const entry of this.#entries.values()) entry.isDispatched = false;
    return lost;
  }

  /** A process died while loading: counts as an attempt of every call, so none waits for ever. */
  loseStart(error: NodeError): void {
    for (const entry of this.#entries.values()) entry.attempts++;
    this.#fail(({ attempts }) => attempts >= mostAttempts, error);
  }

  failAll(error: NodeError): void {
    this.#fail(() => true, error);
  }

  #fail(isChosen: (entry: Entry) => boolean, error: NodeError): number {
    const chosen = [...this.#entries].filter(([, entry]) => isChosen(entry));
    for (const [id, { listener }] of chosen) {
      this.#forget(id);
      listener.fail(copyOf(error));
    }
    return chosen.length;
  }
}

export const callerOf = (call: Call): string => ("caller" in call ? (call.caller ?? "") : "");

function dispatch({ id, entry, call }: Waiting, process: Pick<RunnerProcess, "send">): void {
  entry.text = undefined;
  entry.isDispatched = true;
  entry.attempts++;
  process.send({ type: "call", id, call });
}

/** Never shown: a caller that cancels uses its own reason. */
const notWanted = (): NodeError => new NodeError("internal", "The answer is not wanted any more.");
