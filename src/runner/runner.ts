/** A model's engine in a process of its own, which is started again when it dies. */
import { setTimeout as pauseFor } from "node:timers/promises";
import { untilAborted } from "../core/abort.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { settledSettings } from "../core/models/settled-settings.ts";
import { noProgress, type Progress } from "../core/progress.ts";
import { CallBook, type CallListener } from "./call-book.ts";
import type { Call, Facts } from "./protocol.ts";
import {
  type Ending,
  ProcessEnded,
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
  /** Hears of every death; `hung`: it was ended because it left its heartbeat unanswered. */
  onRestart: (hung: boolean) => void;
}

/** A process that lived so long does not count as failing again and again. */
const steadyMs = 10_000;
/** A process that was silent for this part of its time is no longer called ready. */
const worryingPart = 3;
const firstPauseMs = 500;
const longestPauseMs = 30_000;
/** A start that fails so often in a row is not waited for any longer. */
const mostFailedStarts = 2;

export class Runner implements AsyncDisposable {
  readonly #options: SupervisionOptions;
  readonly #share: ThreadShare;
  readonly #book = new CallBook(() => this.#used());
  readonly #stopping = new AbortController();
  /** What was loaded first; what is loaded later must be the same. */
  readonly #facts: Facts;
  readonly #version: string;
  #process: RunnerProcess | undefined;
  #isStarting = false;
  /** Whether the process is to end once it has finished what it is at. */
  #isRetiring = false;
  #since = 0;
  #deaths = 0;
  #lastUsed = performance.now();
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  /** Why there is no process, where that is a failure. */
  #failure: NodeError | undefined;

  /** Starts the first process; where that fails there is no runner. */
  static async start(
    options: SupervisionOptions,
    loading: { progress: Progress; signal: AbortSignal },
  ): Promise<Runner> {
    let receive: StartOptions["onItems"] = () => {};
    const first = await startRunner(options, { ...loading, onItems: (items) => receive(items) });
    const runner = new Runner(options, first);
    receive = (items) => runner.#book.receive(items);
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

  get isBusy(): boolean {
    return this.#book.size > 0;
  }

  /** When its last call came or went, by a clock that does not jump. */
  get lastUsed(): number {
    return this.#lastUsed;
  }

  /** Why it cannot answer now; one that sleeps can, and who wakes it waits as for any first token. */
  problem(): string | undefined {
    if (this.#process === undefined) return this.#failure?.message;
    const { name, heartbeatTimeoutMs } = this.#options;
    const silentMs = this.#process.silentMs();
    if (heartbeatTimeoutMs === 0 || silentMs < heartbeatTimeoutMs / worryingPart) return undefined;
    return `The model '${name}' has left its heartbeat unanswered for ${Math.round(silentMs / 1000)} s; after ${heartbeatTimeoutMs / 1000} s its process is started again.`;
  }

  /**
   * Makes a call; what is returned ends it, or says that more of its events can be taken. A call that is
   * ended is heard of once more: when the process is done with it.
   */
  call(call: Call, listener: CallListener): { cancel(): void; more(events: number): void } {
    this.#checkRoom();
    const id = this.#book.add(call, listener);
    if (this.#process === undefined) this.#wake();
    else if (!this.#isRetiring) this.#book.giveTo(this.#process);
    return {
      cancel: () => this.#book.cancel(id, this.#process),
      more: (events) => this.#process?.send({ type: "more", id, events }),
    };
  }

  /** Ends the process until the next call, and gives its memory back; one that has calls goes on. */
  async sleep(): Promise<boolean> {
    const process = this.#process;
    if (process === undefined || this.#book.size > 0) return false;
    await this.#end(process);
    return true;
  }

  /** Ends the process once it has finished what it is at; what comes meanwhile waits for the next. */
  async retire(signal: AbortSignal): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    this.#isRetiring = true;
    this.#used();
    await untilAborted(process.ended, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = new NodeError("unavailable", "The node is stopping. Ask again later.");
    this.#stopping.abort(stopped);
    this.#book.failAll(stopped);
    clearTimeout(this.#idleTimer);
    this.#share.leave();
    await this.#process?.end();
  }

  #checkRoom(): void {
    this.#stopping.signal.throwIfAborted();
    if (this.#process !== undefined && !this.#isRetiring) return;
    const { name, mostWaiting } = this.#options;
    if (this.#failure?.kind === "model_not_ready") throw again(this.#failure);
    if (this.#book.size < mostWaiting) return;
    throw new NodeError(
      "overloaded",
      `The model '${name}' is being loaded, and ${this.#book.size} requests wait for it already. Try again in a moment.`,
    );
  }

  /** A call came or went. */
  #used(): void {
    this.#lastUsed = performance.now();
    clearTimeout(this.#idleTimer);
    if (this.#stopping.signal.aborted) return;
    this.#share.busy(this.#book.computes);
    const process = this.#process;
    if (process !== undefined && this.#isRetiring && this.#book.given === 0) {
      void this.#end(process);
      return;
    }
    const { keepAliveMs, name, log } = this.#options;
    if (keepAliveMs === undefined || this.#book.size > 0) return;
    this.#idleTimer = setTimeout(async () => {
      if (await this.sleep()) log.info("a model that nobody asked was unloaded", { model: name });
    }, keepAliveMs);
  }

  /** Ends a process that has nothing to do; whoever came meanwhile is served by the next. */
  async #end(process: RunnerProcess): Promise<void> {
    this.#process = undefined;
    this.#isRetiring = false;
    process.kill();
    await process.ended;
    if (this.#book.size > 0) this.#wake();
  }

  #wake(): void {
    if (this.#process !== undefined || this.#isStarting || this.#stopping.signal.aborted) return;
    this.#deaths = 0;
    void this.#start(0);
  }

  #adopt(process: RunnerProcess): void {
    this.#process = process;
    this.#failure = undefined;
    this.#since = performance.now();
    process.send({ type: "threads", most: this.#share.threads });
    void process.ended.then((ending) => {
      // One that was put to sleep did not die.
      if (this.#process === process) this.#died(ending);
    });
    this.#used();
  }

  #died({ how, hung, lastWords }: Ending): void {
    this.#process = undefined;
    this.#isRetiring = false;
    if (this.#stopping.signal.aborted) return;
    if (performance.now() - this.#since > steadyMs) this.#deaths = 0;
    const { name, log, onRestart } = this.#options;
    this.#failure = new NodeError("unavailable", `The model '${name}' is being started again.`);
    const lost = this.#book.loseProcess(endedWhileAnswering(name));
    log.error("a model's process ended; it is started again", {
      model: name,
      how,
      requests_lost: lost,
      requests_waiting: this.#book.size,
      ...(lastWords === "" ? {} : { last_words: lastWords }),
    });
    onRestart(hung);
    void this.#start(pauseAfter(this.#deaths++));
  }

  /** Until a process is loaded, at longer and longer intervals; who waits is served by it. */
  async #start(pauseMs: number): Promise<void> {
    const { name, log, makeRoom } = this.#options;
    const { signal } = this.#stopping;
    this.#isStarting = true;
    let failures = 0;
    for (let pause = pauseMs; !signal.aborted; pause = pauseAfter(this.#deaths++)) {
      await pauseFor(pause, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        using _ = await makeRoom(signal);
        const process = await this.#startProcess(signal);
        this.#isStarting = false;
        this.#adopt(process);
        log.info("a model was loaded again", { model: name, waiting: this.#book.size });
        this.#book.giveTo(process);
        return;
      } catch (error) {
        if (signal.aborted) return;
        failures++;
        log.error("a model cannot be loaded again", { model: name, reason: reasonOf(error) });
        const hasDied = error instanceof NodeError && error.cause instanceof ProcessEnded;
        if (hasDied) this.#book.loseStart(endedWhileAnswering(name));
        if (hasDied && failures < mostFailedStarts) continue;
        this.#failure = cannotBeLoaded(name, error);
        this.#book.failAll(this.#failure);
      }
    }
  }

  async #startProcess(signal: AbortSignal): Promise<RunnerProcess> {
    const { name } = this.#options;
    const process = await startRunner(this.#again(), {
      progress: noProgress,
      signal,
      onItems: (items) => this.#book.receive(items),
    });
    if (identityOf(process.facts) === identityOf(this.#facts)) return process;
    process.kill();
    throw new NodeError(
      "unavailable",
      `The file of the model '${name}' is another than the node was started with. Put it back, or start the node again.`,
    );
  }

  /** What was measured or chosen at the first start is not so again beside models that are at work. */
  #again(): RunnerOptions {
    const { work } = this.#options;
    const facts = this.#facts;
    if (work.type !== "model" || facts.type === "reranker") return this.#options;
    const settings = settledSettings(work.spec.settings, facts.card.settings);
    const threads = facts.type === "chat" ? { threads: facts.threads } : {};
    return { ...this.#options, work: { ...work, spec: { ...work.spec, settings, ...threads } } };
  }
}

/** Changes with the weights, the engine and the settings. */
const identityOf = (facts: Facts): string =>
  facts.type === "reranker" ? facts.type : `${facts.type} ${facts.fingerprint}`;

const pauseAfter = (deaths: number): number =>
  deaths === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (deaths - 1));

const endedWhileAnswering = (name: string): NodeError =>
  new NodeError(
    "unavailable",
    `The process that runs the model '${name}' ended while it answered; it is started again. Ask again.`,
  );

const cannotBeLoaded = (name: string, cause: unknown): NodeError =>
  new NodeError(
    "model_not_ready",
    `The model '${name}' failed and cannot be loaded again for now; the node's log says why. It is tried again.`,
    { param: "model", cause },
  );

const again = ({ kind, message, param }: NodeError): NodeError =>
  new NodeError(kind, message, given({ param }));
