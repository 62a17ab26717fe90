/** A model's engine in a process of its own, which is started again when it dies. */
import { setTimeout as pauseFor } from "node:timers/promises";
import { settle } from "../core/auto-settings.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import { noProgress, type Progress } from "../core/progress.ts";
import { type Call, type CallItem, type Facts, fromSentError } from "./protocol.ts";
import {
  type RunnerOptions,
  type RunnerProcess,
  type StartOptions,
  startRunner,
} from "./runner-process.ts";
import type { ThreadShare, ThreadShares } from "./thread-shares.ts";

export interface SupervisionOptions extends RunnerOptions {
  shares: ThreadShares;
  /** Calls that may wait while there is no process. */
  mostWaiting: number;
  /** How long it may have no call before its process is ended until the next; absent: for ever. */
  keepAliveMs?: number;
  /** Waits until there is memory for its process, and keeps it until the process is there. */
  makeRoom: (signal: AbortSignal) => Promise<Disposable>;
  /** Hears of every death. */
  onRestart: () => void;
}

/** Who made a call hears of all that comes of it, and of its failure where the process dies. */
export interface CallListener {
  hear(item: CallItem): void;
  fail(error: Error): void;
}

interface Sent {
  call: Call;
  listener: CallListener;
  /** Whether it left the line: what it began is lost with the process. */
  started: boolean;
  /** How many processes it was given to. */
  attempts: number;
}

/** One that was waiting did not kill the process; one that waited at several deaths may have. */
const mostAttempts = 3;
/** A process that lived so long does not count as failing again and again. */
const steadyMs = 10_000;
const firstPauseMs = 500;
const longestPauseMs = 30_000;

export class Runner implements AsyncDisposable {
  readonly #options: SupervisionOptions;
  readonly #share: ThreadShare;
  readonly #calls = new Map<number, Sent>();
  readonly #stopping = new AbortController();
  #process: RunnerProcess | undefined;
  #facts: Facts;
  #version: string;
  #nextId = 1;
  #deaths = 0;
  #isStarting = false;
  #lastUsed = performance.now();
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  /** Why there is no process, where starting one failed. */
  #failure: NodeError | undefined;

  /** Starts the first process; where that fails there is no runner. */
  static async start(
    options: SupervisionOptions,
    loading: { progress: Progress; signal: AbortSignal },
  ): Promise<Runner> {
    let receive: StartOptions["onItems"] = () => {};
    const first = await startRunner(options, { ...loading, onItems: (items) => receive(items) });
    const runner = new Runner(options, first);
    receive = (items) => runner.#receive(items);
    return runner;
  }

  private constructor(options: SupervisionOptions, first: RunnerProcess) {
    this.#options = options;
    this.#facts = first.facts;
    this.#version = first.version;
    this.#share = options.shares.join((most) => this.#process?.send({ type: "threads", most }));
    this.#adopt(first);
  }

  get facts(): Facts {
    return this.#facts;
  }

  get version(): string {
    return this.#version;
  }

  /** The process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Resident bytes of the process; undefined where there is none, or it has not said. */
  get residentBytes(): number | undefined {
    return this.#process?.residentBytes();
  }

  /** Why it cannot answer now; one that sleeps can. */
  problem(): string | undefined {
    if (this.#process !== undefined || !this.#isStarting) return undefined;
    // Who wakes it waits, as for any first token.
    if (this.#failure === undefined && this.#deaths === 0) return undefined;
    return this.#failure?.message ?? `The model '${this.#options.name}' is being started again.`;
  }

  get isBusy(): boolean {
    return this.#calls.size > 0;
  }

  /** When its last call began or ended, by a clock that does not jump. */
  get lastUsed(): number {
    return this.#lastUsed;
  }

  /** Ends the process until the next call, and gives its memory back; one that is at work goes on. */
  async sleep(): Promise<boolean> {
    const process = this.#process;
    if (process === undefined || this.#calls.size > 0) return false;
    this.#process = undefined;
    process.kill();
    await process.ended;
    return true;
  }

  /** Makes a call; what is returned ends it, or says that more of its events can be taken. */
  call(call: Call, listener: CallListener): { cancel(): void; more(events: number): void } {
    this.#checkRoom();
    const id = this.#nextId++;
    const sent: Sent = { call, listener, started: false, attempts: 0 };
    this.#calls.set(id, sent);
    this.#used();
    this.#give(id, sent);
    if (this.#process === undefined && !this.#isStarting) void this.#start(0);
    return {
      cancel: () => {
        if (!this.#forget(id)) return;
        this.#process?.send({ type: "cancel", id });
      },
      more: (events) => this.#process?.send({ type: "more", id, events }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = new NodeError("unavailable", "The node is stopping. Ask again later.");
    this.#stopping.abort(stopped);
    clearTimeout(this.#idleTimer);
    this.#share.leave();
    this.#failAll(() => true, stopped);
    const process = this.#process;
    process?.kill();
    await process?.ended;
  }

  #checkRoom(): void {
    this.#stopping.signal.throwIfAborted();
    if (this.#process !== undefined) return;
    if (this.#failure !== undefined) throw notReady(this.#failure);
    if (this.#calls.size < this.#options.mostWaiting) return;
    throw new NodeError(
      "overloaded",
      `The model '${this.#options.name}' is being started again, and ${this.#calls.size} requests wait for it already. Try again in a moment.`,
    );
  }

  #give(id: number, sent: Sent): void {
    if (this.#process === undefined) return;
    sent.attempts++;
    this.#process.send({ type: "call", id, call: sent.call });
  }

  #receive(items: readonly { id: number; item: CallItem }[]): void {
    for (const { id, item } of items) {
      const sent = this.#calls.get(id);
      if (sent === undefined) continue;
      if (item.type === "start") sent.started = true;
      if (item.type === "error") {
        this.#forget(id);
        sent.listener.fail(fromSentError(item.error));
        continue;
      }
      if (item.type !== "start" && item.type !== "event") this.#forget(id);
      sent.listener.hear(item);
    }
  }

  #forget(id: number): boolean {
    const known = this.#calls.delete(id);
    if (known) this.#used();
    return known;
  }

  /** A call came or went. */
  #used(): void {
    this.#lastUsed = performance.now();
    this.#share.busy([...this.#calls.values()].some(({ call }) => computes(call)));
    clearTimeout(this.#idleTimer);
    const { keepAliveMs, name, log } = this.#options;
    if (keepAliveMs === undefined || this.#calls.size > 0) return;
    this.#idleTimer = setTimeout(async () => {
      if (await this.sleep()) log.info("a model that nobody asked was unloaded", { model: name });
    }, keepAliveMs);
  }

  #adopt(process: RunnerProcess): void {
    this.#process = process;
    this.#facts = process.facts;
    this.#version = process.version;
    this.#failure = undefined;
    process.send({ type: "threads", most: this.#share.threads });
    this.#used();
    const since = performance.now();
    void process.ended.then(({ how, lastWords }) => {
      // One that was put to sleep did not die.
      if (this.#process !== process) return;
      this.#process = undefined;
      if (this.#stopping.signal.aborted) return;
      if (performance.now() - since > steadyMs) this.#deaths = 0;
      const { name, log, onRestart } = this.#options;
      const isLost = (sent: Sent): boolean => sent.started || sent.attempts >= mostAttempts;
      const lost = this.#failAll(isLost, died(name));
      log.error("a model's process ended; it is started again", {
        model: name,
        how,
        requests_lost: lost,
        requests_waiting: this.#calls.size,
        ...(lastWords === "" ? {} : { last_words: lastWords }),
      });
      onRestart();
      void this.#start(pauseAfter(this.#deaths++));
    });
  }

  /** Until a process is loaded, at longer and longer intervals; who waits is served by it. */
  async #start(pauseMs: number): Promise<void> {
    const { name, log, makeRoom } = this.#options;
    const { signal } = this.#stopping;
    this.#isStarting = true;
    for (let pause = pauseMs; !signal.aborted; pause = pauseAfter(this.#deaths++)) {
      await pauseFor(pause, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        using _ = await makeRoom(signal);
        const process = await startRunner(this.#again(), {
          progress: noProgress,
          signal,
          onItems: (items) => this.#receive(items),
        });
        this.#isStarting = false;
        this.#adopt(process);
        log.info("a model was loaded again", { model: name, waiting: this.#calls.size });
        for (const [id, sent] of this.#calls) this.#give(id, sent);
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.error("a model cannot be loaded again", {
          model: name,
          reason: reasonOf(error),
        });
        this.#failure = new NodeError(
          "model_not_ready",
          `The model '${name}' failed and cannot be loaded again for now; the node's log says why. It is tried again.`,
          { param: "model", cause: error },
        );
        this.#failAll(() => true, this.#failure);
      }
    }
  }

  /** What was measured or chosen at the first start is not so again beside models that are at work. */
  #again(): RunnerOptions {
    const { work } = this.#options;
    const facts = this.#facts;
    if (work.type !== "model" || facts.type === "reranker") return this.#options;
    const settings = settle(work.spec.settings, facts.card.settings);
    const threads = facts.type === "chat" ? { threads: facts.threads } : {};
    return { ...this.#options, work: { ...work, spec: { ...work.spec, settings, ...threads } } };
  }

  /** Fails the calls that are chosen; returns how many. */
  #failAll(isChosen: (sent: Sent) => boolean, error: NodeError): number {
    const chosen = [...this.#calls].filter(([, sent]) => isChosen(sent));
    for (const [id, { listener }] of chosen) {
      this.#forget(id);
      listener.fail(new NodeError(error.kind, error.message, { cause: error }));
    }
    return chosen.length;
  }
}

/** Whether a call keeps threads busy; counting takes no time worth sharing for. */
const computes = ({ type }: Call): boolean =>
  type === "generate" || type === "embed" || type === "rank";

const pauseAfter = (deaths: number): number =>
  deaths === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (deaths - 1));

const died = (name: string): NodeError =>
  new NodeError(
    "unavailable",
    `The process that runs the model '${name}' ended while it answered; it is started again. Ask again.`,
  );

const notReady = ({ kind, message, param }: NodeError): NodeError =>
  new NodeError(kind, message, param === undefined ? {} : { param });
