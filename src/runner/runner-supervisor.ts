/** Supervises one model's process: starts it, restarts it with backoff, unloads it when idle. */
import { setTimeout as pauseFor } from "node:timers/promises";
import { untilAborted } from "../core/abort.ts";
import { copyOf, NodeError, reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { Residence } from "../core/models/model.ts";
import type { ModelSpec } from "../core/ports/model-host.ts";
import type { Progress } from "../core/progress.ts";
import { type CallListener, callerOf, PendingCalls } from "./pending-calls.ts";
import type { Call, Facts } from "./protocol.ts";
import {
  type Ending,
  ProcessEnded,
  type RunnerOptions,
  type RunnerProcess,
  restartProcess,
  type StartOptions,
  startRunner,
  startWith,
} from "./runner-process.ts";
import type { ThreadShare, ThreadShares } from "./thread-shares.ts";

export interface SupervisionOptions extends RunnerOptions {
  shares: ThreadShares;
  /** Calls that may wait while there is no process. */
  mostWaiting: number;
  /** Idle time after which the process is ended until the next call; absent: no limit. */
  keepAliveMs?: number;
  /** Waits for memory for the process, and reserves it until the process runs. */
  reserveMemory: (signal: AbortSignal) => Promise<Disposable>;
  /** Called at every restart. `hung`: killed for a missing heartbeat or a step without end. */
  onRestart: (hung: boolean) => void;
}

const mostFailedStarts = 2;

export class Runner implements AsyncDisposable {
  #options: SupervisionOptions;
  readonly #share: ThreadShare;
  readonly #calls = new PendingCalls(() => this.#used());
  readonly #backoff = new RestartBackoff();
  readonly #stopping = new AbortController();
  #facts: Facts;
  readonly version: string;
  #process: RunnerProcess | undefined;
  #isStarting = false;
  /** Whether other weights are being loaded; calls wait for them. */
  #isReplacing = false;
  #isDraining = false;
  #lastUsed = performance.now();
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  /** Why there is no process, if that is a failure. */
  #failure: NodeError | undefined;

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
    this.version = first.version;
    this.#share = options.shares.join((most) => this.#process?.send({ type: "threads", most }));
    this.#adopt(first);
  }

  get facts(): Facts {
    return this.#facts;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get residentBytes(): number | undefined {
    return this.#process?.residentBytes();
  }

  get isBusy(): boolean {
    return this.#calls.size > 0;
  }

  get lastUsed(): number {
    return this.#lastUsed;
  }

  residence(): Residence {
    const { keepAliveMs } = this.#options;
    const lastUsedAt = new Date(Date.now() - (performance.now() - this.#lastUsed));
    if (this.#process === undefined) {
      const error = this.#failure?.message;
      const state = this.#isStarting || this.#isReplacing ? "loading" : "unloaded";
      return { state, lastUsedAt, ...given({ error }) };
    }
    const unloadsAt =
      keepAliveMs === undefined || this.isBusy
        ? undefined
        : new Date(lastUsedAt.getTime() + keepAliveMs);
    return { state: "loaded", lastUsedAt, ...given({ bytes: this.residentBytes, unloadsAt }) };
  }

  /** Why it cannot answer now. An unloaded model can: the next call loads it. */
  problem(): string | undefined {
    if (this.#process === undefined) return this.#failure?.message;
    const problem = this.#process.problem();
    return problem && `The model '${this.#options.name}' ${problem}.`;
  }

  /** After `cancel`, the listener gets one last item or failure. `credit` allows more events. */
  call(call: Call, listener: CallListener): { cancel(): void; credit(events: number): void } {
    this.#checkQueue(callerOf(call));
    const id = this.#calls.add(call, listener);
    if (this.#process === undefined) this.#startAgain();
    else if (!this.#isDraining) this.#calls.dispatchTo(this.#process);
    return {
      cancel: () => this.#calls.cancel(id, this.#process),
      credit: (events) => this.#process?.send({ type: "credit", id, events }),
    };
  }

  /** Ends an idle process until the next call, to free its memory; returns whether it did. */
  async unloadIfIdle(): Promise<boolean> {
    const process = this.#process;
    if (process === undefined || this.#calls.size > 0) return false;
    await this.#end(process);
    return true;
  }

  /** Ends the process once its calls are finished; new calls wait for the next process. */
  async drain(signal: AbortSignal): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    this.#isDraining = true;
    this.#used();
    await untilAborted(process.ended, signal);
  }

  /** Loads other weights once the calls in progress have ended; on failure, the former ones. */
  async replaceWeights(spec: ModelSpec, signal: AbortSignal): Promise<void> {
    this.#isReplacing = true;
    try {
      await this.drain(signal);
      const { name } = this.#options;
      if (this.#isStarting) throw beingRestarted(name);
      const process = await startWith({ ...this.#options, spec }, this.#facts, {
        signal: AbortSignal.any([signal, this.#stopping.signal]),
        onItems: (items) => this.#receive(items),
      });
      this.#options = { ...this.#options, spec };
      this.#facts = process.facts;
      this.#adopt(process);
    } finally {
      this.#isReplacing = false;
      if (this.#process !== undefined) this.#calls.dispatchTo(this.#process);
      else if (!signal.aborted) this.#startAgain();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = new NodeError("unavailable", "The node is stopping. Try again later.");
    this.#stopping.abort(stopped);
    this.#calls.failAll(stopped);
    clearTimeout(this.#idleTimer);
    this.#share.leave();
    await this.#process?.end();
  }

  /** Sends on what waited until another call was read. */
  #receive(items: Parameters<StartOptions["onItems"]>[0]): void {
    this.#calls.receive(items);
    if (this.#process !== undefined && !this.#isDraining) this.#calls.dispatchTo(this.#process);
  }

  #checkQueue(caller: string): void {
    this.#stopping.signal.throwIfAborted();
    if (this.#process !== undefined && !this.#isDraining) return;
    const { name, mostWaiting } = this.#options;
    if (this.#failure?.kind === "model_not_ready") throw copyOf(this.#failure);
    if (this.#calls.size < mostWaiting) return;
    const full = new NodeError(
      "overloaded",
      `The model '${name}' is being loaded, and ${this.#calls.size} requests wait for it already. Try again in a moment.`,
    );
    if (!this.#calls.makeRoom(caller, full)) throw full;
  }

  #used(): void {
    this.#lastUsed = performance.now();
    clearTimeout(this.#idleTimer);
    if (this.#stopping.signal.aborted) return;
    this.#share.busy(this.#calls.computes);
    const process = this.#process;
    if (process !== undefined && this.#isDraining && this.#calls.dispatched === 0) {
      void this.#end(process);
      return;
    }
    const { keepAliveMs, name, log } = this.#options;
    if (keepAliveMs === undefined || this.#calls.size > 0) return;
    this.#idleTimer = setTimeout(async () => {
      if (await this.unloadIfIdle())
        log.info("a model that nobody asked was unloaded", { model: name });
    }, keepAliveMs);
  }

  async #end(process: RunnerProcess): Promise<void> {
    this.#process = undefined;
    this.#isDraining = false;
    process.kill();
    await process.ended;
    if (this.#calls.size > 0) this.#startAgain();
  }

  #startAgain(): void {
    if (this.#process !== undefined || this.#isStarting || this.#isReplacing) return;
    if (this.#stopping.signal.aborted) return;
    this.#backoff.reset();
    void this.#start(0);
  }

  #adopt(process: RunnerProcess): void {
    this.#process = process;
    this.#failure = undefined;
    this.#backoff.started();
    process.send({ type: "threads", most: this.#share.threads });
    void process.ended.then((ending) => {
      // A process that was unloaded or drained did not die.
      if (this.#process === process) this.#died(ending);
    });
    this.#used();
  }

  #died({ how, hung, stderrTail }: Ending): void {
    this.#process = undefined;
    this.#isDraining = false;
    if (this.#stopping.signal.aborted) return;
    const { name, log, onRestart } = this.#options;
    this.#failure = beingRestarted(name);
    const lost = this.#calls.loseProcess(endedWhileAnswering(name));
    log.error("a model's process ended; it is started again", {
      model: name,
      how,
      requests_lost: lost,
      requests_waiting: this.#calls.size,
      ...(stderrTail === "" ? {} : { last_words: stderrTail }),
    });
    onRestart(hung);
    void this.#start(this.#backoff.ended());
  }

  async #start(pauseMs: number): Promise<void> {
    const { name, log, reserveMemory } = this.#options;
    const { signal } = this.#stopping;
    this.#isStarting = true;
    let failures = 0;
    for (let pause = pauseMs; !signal.aborted; pause = this.#backoff.failed()) {
      await pauseFor(pause, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        using _ = await reserveMemory(signal);
        const process = await restartProcess(this.#options, this.#facts, {
          signal,
          onItems: (items) => this.#receive(items),
        });
        this.#isStarting = false;
        this.#adopt(process);
        log.info("a model was loaded again", { model: name, waiting: this.#calls.size });
        this.#calls.dispatchTo(process);
        return;
      } catch (error) {
        if (signal.aborted) return;
        failures++;
        log.error("a model cannot be loaded again", { model: name, reason: reasonOf(error) });
        const hasDied = error instanceof NodeError && error.cause instanceof ProcessEnded;
        if (hasDied) this.#calls.loseStart(endedWhileAnswering(name));
        if (hasDied && failures < mostFailedStarts) continue;
        this.#failure = cannotBeLoaded(name, error);
        this.#calls.failAll(this.#failure);
      }
    }
  }
}

const beingRestarted = (name: string): NodeError =>
  new NodeError("unavailable", `The model '${name}' is being started again.`);

const endedWhileAnswering = (name: string): NodeError =>
  new NodeError(
    "unavailable",
    `The process that runs the model '${name}' ended while it answered; it is started again. Try again.`,
    { cause: new ProcessEnded("while it answered") },
  );

const cannotBeLoaded = (name: string, cause: unknown): NodeError =>
  new NodeError(
    "model_not_ready",
    `The model '${name}' failed and cannot be loaded again for now; the node's log says why. It is tried again.`,
    { param: "model", cause },
  );

/** After this long, the end of a process starts a new series of failures. */
const steadyMs = 10_000;
const firstPauseMs = 500;
const longestPauseMs = 30_000;

export class RestartBackoff {
  #failures = 0;
  #startedAt = 0;

  reset(): void {
    this.#failures = 0;
  }

  started(): void {
    this.#startedAt = performance.now();
  }

  /** A running process ended; returns the pause before the next start. */
  ended(): number {
    if (performance.now() - this.#startedAt > steadyMs) this.reset();
    return this.failed();
  }

  /** A start failed; returns the pause before the next. */
  failed(): number {
    const failures = this.#failures++;
    return failures === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));
  }
}
