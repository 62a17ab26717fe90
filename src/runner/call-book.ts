/** The calls of a model from the moment they are made until they are answered, whichever process does it. */
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { pack } from "./packed-call.ts";
import { type Call, type CallItem, fromSentError } from "./protocol.ts";
import type { RunnerProcess } from "./runner-process.ts";

/** Who made a call hears of all that comes of it, and of its failure where the process dies. */
export interface CallListener {
  hear(item: CallItem): void;
  fail(error: Error): void;
}

interface Entry {
  call: Call;
  listener: CallListener;
  /** Whether the present process has it. */
  isGiven: boolean;
  /** Whether it left the line: what it began is lost with the process. */
  isStarted: boolean;
  /** How many processes it was to be answered by. */
  attempts: number;
  /** Whether nobody wants the answer any more; it stays here until the process is done with it. */
  isCancelled: boolean;
}

/** One that was waiting did not kill the process; one that waited at several deaths may have. */
const mostAttempts = 3;

/** Nobody reads it: who cancels a call has a reason of their own. */
const notWanted = new NodeError("internal", "The answer is not wanted any more.");

export class CallBook {
  readonly #entries = new Map<number, Entry>();
  readonly #onChange: () => void;
  #nextId = 1;

  /** `onChange`: called whenever a call comes or goes. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** How many the present process has. */
  get given(): number {
    return [...this.#entries.values()].filter(({ isGiven }) => isGiven).length;
  }

  /** Whether one of them keeps threads busy; counting takes no time worth sharing for. */
  get computes(): boolean {
    return [...this.#entries.values()].some(({ call: { type } }) => !type.startsWith("count"));
  }

  add(call: Call, listener: CallListener): number {
    const id = this.#nextId++;
    this.#entries.set(id, {
      call,
      listener,
      isGiven: false,
      isStarted: false,
      attempts: 0,
      isCancelled: false,
    });
    this.#onChange();
    return id;
  }

  /** Gives a process all calls that wait for one. */
  giveTo(process: RunnerProcess): void {
    for (const [id, entry] of this.#entries) {
      if (entry.isGiven) continue;
      entry.isGiven = true;
      entry.attempts++;
      process.send({ type: "call", id, call: pack(entry.call) });
    }
  }

  receive(items: readonly { id: number; item: CallItem }[]): void {
    for (const { id, item } of items) {
      const entry = this.#entries.get(id);
      if (entry === undefined) continue;
      if (item.type === "start") entry.isStarted = true;
      if (item.type !== "start" && item.type !== "event") this.#forget(id);
      if (item.type === "error") entry.listener.fail(fromSentError(item.error));
      else entry.listener.hear(item);
    }
  }

  /** The caller left: one that no process has ends at once, else when the process says so. */
  cancel(id: number, process: RunnerProcess | undefined): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.isCancelled) return;
    entry.isCancelled = true;
    if (entry.isGiven) process?.send({ type: "cancel", id });
    else this.#fail((candidate) => candidate === entry, notWanted);
  }

  #forget(id: number): void {
    if (this.#entries.delete(id)) this.#onChange();
  }

  /** The process died: what it had begun is lost, the rest waits for the next; returns how many are lost. */
  loseProcess(error: NodeError): number {
    this.#fail(({ isCancelled }) => isCancelled, notWanted);
    const lost = this.#fail(
      ({ isStarted, attempts }) => isStarted || attempts >= mostAttempts,
      error,
    );
    for (const entry of this.#entries.values()) entry.isGiven = false;
    return lost;
  }

  /** A process died before it was ready: one of those that wait may be why, so none waits for ever. */
  loseStart(error: NodeError): void {
    for (const entry of this.#entries.values()) entry.attempts++;
    this.#fail(({ attempts }) => attempts >= mostAttempts, error);
  }

  failAll(error: NodeError): void {
    this.#fail(() => true, error);
  }

  #fail(isChosen: (entry: Entry) => boolean, { kind, message, param, cause }: NodeError): number {
    const chosen = [...this.#entries].filter(([, entry]) => isChosen(entry));
    for (const [id, { listener }] of chosen) {
      this.#forget(id);
      const details = { cause, ...given({ param }) };
      listener.fail(new NodeError(kind, message, details));
    }
    return chosen.length;
  }
}
