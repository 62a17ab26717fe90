/** Runs each model in its own process: a crash of native code affects one model, briefly. */
import { setTimeout as pauseFor } from "node:timers/promises";
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { Log } from "../core/log.ts";
import {
  type Accelerators,
  joinVersions,
  loadWithBest,
  tellRejected,
} from "../core/models/engine-backends.ts";
import type { LoadedModel, ModelCard } from "../core/models/model.ts";
import type { LoadOptions, ModelHost, ModelSpec } from "../core/ports/model-host.ts";
import type { Program } from "../subprocess/program.ts";
import type { HeartbeatLimits } from "./heartbeat.ts";
import { type EngineSettings, subjectOf } from "./protocol.ts";
import {
  remoteChatEngine,
  remoteEmbeddingEngine,
  remoteReranker,
  untilLoaded,
} from "./remote-engines.ts";
import { Runner } from "./runner-supervisor.ts";
import { ThreadShares } from "./thread-shares.ts";

export interface RunnerHostOptions extends HeartbeatLimits {
  program: Program;
  /** `threads`: the budget of all models together. */
  engine: EngineSettings;
  accelerators: Accelerators;
  log: Log;
  onRestart?: (model: string, why: { hung: boolean }) => void;
  memory?: MemoryBound;
  accelerator?: AcceleratorRoom;
}

interface MemoryBound {
  /** Bytes of all models together. */
  limit: number;
  /** Whether only models with a `keepAliveMs` are held to it; the others stay, and count. Default: all are. */
  sparesLasting?: boolean;
  /** What a model will need. */
  bytesOf: (spec: ModelSpec) => Promise<number>;
}

/** Models with a `keepAliveMs` make room for each other; one that finds too little still gets some layers there. */
export interface AcceleratorRoom {
  /** What a model will need with all of its layers; 0: it uses none. */
  bytesOf: (spec: ModelSpec) => Promise<number>;
  /** What a model found free; undefined: it is not on an accelerator. */
  freeFor: (card: ModelCard) => number | undefined;
}

/** As estimated, in bytes; 0: it is not held to the bound. */
interface Needs {
  memory: number;
  accelerator: number;
}

interface Resident extends Needs {
  runner: Runner | undefined;
}

/** Embedding and reranking models have no queue setting of their own. */
const mostWaiting = 1024;

export class RunnerHost implements ModelHost {
  readonly #options: RunnerHostOptions;
  readonly #shares: ThreadShares;
  readonly #residents = new Map<string, Resident>();
  readonly #reserved = new Map<string, Needs>();
  /** Bytes of the accelerator for the models that make room, as the last load found it. */
  #acceleratorRoom = Number.POSITIVE_INFINITY;
  /** Settles when the last in the queue for memory got it or gave up. */
  #lastReservation: Promise<void> = Promise.resolve();
  readonly #versions = new Map<string, string>();
  readonly #toldBackends = new Set<string>();

  constructor(options: RunnerHostOptions) {
    this.#options = options;
    this.#shares = new ThreadShares(options.engine.threads);
  }

  get version(): string {
    return joinVersions(this.#versions);
  }

  get threads(): number {
    return this.#options.engine.threads;
  }

  processes(): { model: string; pid: number }[] {
    return [...this.#residents].flatMap(([model, { runner }]) =>
      runner?.pid === undefined ? [] : [{ model, pid: runner.pid }],
    );
  }

  residentBytes(model: string): number | undefined {
    return this.#residents.get(model)?.runner?.residentBytes;
  }

  async loadModel(spec: ModelSpec, options: LoadOptions): Promise<LoadedModel> {
    const most = spec.type === "chat" ? spec.maxQueue + spec.parallel : mostWaiting;
    return this.#loaded(await this.#start(spec, most, options));
  }

  async replaceWeights(spec: ModelSpec, signal: AbortSignal): Promise<LoadedModel> {
    const { name } = spec;
    const resident = this.#residents.get(name);
    if (resident?.runner === undefined) {
      throw new NodeError("internal", `The model '${name}' is not loaded.`);
    }
    const needs = await this.#needsOf(spec);
    using _ = await this.#reserveMemory(name, needs, signal);
    await resident.runner.replaceWeights(spec, signal);
    Object.assign(resident, needs);
    return this.#loaded(resident.runner);
  }

  #loaded(runner: Runner): LoadedModel {
    const { facts } = runner;
    const shared = {
      problem: () => runner.problem(),
      residence: () => runner.residence(),
      load: (signal: AbortSignal) => untilLoaded(runner, signal),
      unload: (signal: AbortSignal) => runner.drain(signal),
      [Symbol.asyncDispose]: () => this.#end(facts.card.name, runner),
    };
    if (facts.type === "chat") {
      return { ...facts, engine: remoteChatEngine(runner, facts), ...shared };
    }
    if (facts.type === "embedding") {
      return { ...facts, engine: remoteEmbeddingEngine(runner, facts), ...shared };
    }
    return { ...facts, engine: remoteReranker(runner, facts), ...shared };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      [...this.#residents].map(([name, { runner }]) => runner && this.#end(name, runner)),
    );
  }

  async #start(spec: ModelSpec, most: number, loading: LoadOptions): Promise<Runner> {
    const { name, keepAliveMs } = spec;
    const { engine, accelerators, log, onRestart } = this.#options;
    const resident: Resident = { runner: undefined, ...(await this.#needsOf(spec)) };
    const reserveMemory = (signal: AbortSignal): Promise<Disposable> =>
      this.#reserveMemory(name, resident, signal);
    using _ = await reserveMemory(loading.signal);
    const plan = await accelerators.planFor(subjectOf(spec));
    tellRejected(log, plan.rejected, this.#toldBackends);
    const { loaded: runner, rejected: better } = await loadWithBest(
      plan,
      name,
      log,
      (backend, rejected) =>
        Runner.start(
          {
            ...this.#options,
            name,
            engine: { ...engine, backend, rejected },
            spec,
            shares: this.#shares,
            mostWaiting: most,
            reserveMemory,
            onRestart: (hung) => onRestart?.(name, { hung }),
            ...given({ keepAliveMs }),
          },
          loading,
        ),
    );
    // Backends that failed now were logged already.
    for (const { backend } of better) this.#toldBackends.add(backend);
    resident.runner = runner;
    this.#residents.set(name, resident);
    const free = this.#options.accelerator?.freeFor(runner.facts.card);
    if (free !== undefined) this.#acceleratorRoom = free + this.#taken(name, "accelerator");
    this.#versions.set(name, runner.version);
    return runner;
  }

  async #needsOf(spec: ModelSpec): Promise<Needs> {
    const { memory, accelerator } = this.#options;
    const isLasting = spec.keepAliveMs === undefined;
    const isSpared = memory?.sparesLasting === true && isLasting;
    return {
      memory: memory === undefined || isSpared ? 0 : await memory.bytesOf(spec),
      accelerator: accelerator === undefined || isLasting ? 0 : await accelerator.bytesOf(spec),
    };
  }

  /** Evicts models until another fits. A busy one finishes its calls first, while new ones wait. */
  async #reserveMemory(name: string, needs: Needs, signal: AbortSignal): Promise<Disposable> {
    const reservation = { [Symbol.dispose]: () => void this.#reserved.delete(name) };
    if (needs.memory === 0 && needs.accelerator === 0) return reservation;
    this.#checkFits(name, needs);
    // First come, first served: an evicted model cannot overtake the one it was evicted for.
    const evicted = this.#lastReservation.then(async () => {
      await this.#evictFor(name, needs, signal);
      this.#reserved.set(name, needs);
    });
    this.#lastReservation = evicted.catch(() => {});
    await evicted;
    return reservation;
  }

  async #evictFor(name: string, needs: Needs, signal: AbortSignal): Promise<void> {
    for (;;) {
      const short = this.#shortOf(name, needs);
      if (short === undefined) return;
      signal.throwIfAborted();
      this.#checkFits(name, needs);
      const next = this.#leastRecentlyUsed(name, short);
      if (next === undefined && this.#reserved.size === 0) return;
      // All memory is reserved for models that are starting; once they run, they can be evicted.
      if (next === undefined) {
        await pauseFor(pollMs, undefined, { signal });
        continue;
      }
      const fields = { model: next.name, for: name };
      this.#options.log.info("a model is unloaded to make room for another", fields);
      await next.runner.drain(signal);
    }
  }

  /** Throws where it would not fit beside those that stay: none is unloaded for it in vain. */
  #checkFits(name: string, { memory: bytes }: Needs): void {
    const { memory } = this.#options;
    if (memory === undefined || bytes === 0) return;
    const staying = [...this.#residents.values()].filter((one) => one.memory === 0);
    const stayingBytes = staying.reduce((sum, one) => sum + (one.runner?.residentBytes ?? 0), 0);
    if (stayingBytes + bytes > memory.limit) throw doesNotFit(name, bytes, memory);
  }

  #shortOf(name: string, { memory, accelerator }: Needs): keyof Needs | undefined {
    const limit = this.#options.memory?.limit ?? Number.POSITIVE_INFINITY;
    if (memory > 0 && this.#taken(name, "memory") + memory > limit) return "memory";
    const isCrowded = this.#taken(name, "accelerator") + accelerator > this.#acceleratorRoom;
    return accelerator > 0 && isCrowded ? "accelerator" : undefined;
  }

  #taken(but: string, what: keyof Needs): number {
    const running = [...this.#residents].filter(([, { runner }]) => runner?.pid !== undefined);
    const others = what === "memory" ? (runner?: Runner) => runner?.residentBytes ?? 0 : () => 0;
    const taken = new Map([
      ...running.map(([name, one]) => [name, one[what] || others(one.runner)] as const),
      ...[...this.#reserved].map(([name, needs]) => [name, needs[what]] as const),
    ]);
    taken.delete(but);
    return taken.values().reduce((sum, bytes) => sum + bytes, 0);
  }

  #leastRecentlyUsed(but: string, what: keyof Needs): { name: string; runner: Runner } | undefined {
    return [...this.#residents]
      .flatMap(([name, { runner, [what]: bytes }]) =>
        name !== but && runner?.pid !== undefined && bytes > 0 ? [{ name, runner }] : [],
      )
      .sort(
        (a, b) =>
          Number(a.runner.isBusy) - Number(b.runner.isBusy) ||
          a.runner.lastUsed - b.runner.lastUsed,
      )
      .at(0);
  }

  async #end(name: string, runner: Runner): Promise<void> {
    // A model of the same name may have taken its place.
    if (this.#residents.get(name)?.runner === runner) this.#residents.delete(name);
    await runner[Symbol.asyncDispose]();
  }
}

function doesNotFit(name: string, bytes: number, { limit, sparesLasting }: MemoryBound): NodeError {
  const needs = `The model '${name}' needs about ${megabytes(bytes)} of memory`;
  const why = sparesLasting
    ? `the models of this machine may use ${megabytes(limit)} together, of which those that stay loaded use some. Choose a smaller model, context or 'parallel', or set [engine] memory_limit.`
    : `[engine] memory_limit allows ${megabytes(limit)} for all models. Raise the limit, or choose a smaller model, context or 'parallel'.`;
  return new NodeError("unavailable", `${needs}, and ${why}`, { retryAfterMs: retryMs });
}

/** Memory may be free again when other models are unloaded. */
const retryMs = 30_000;

const pollMs = 20;

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`;
