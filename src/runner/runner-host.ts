/** Models each in a process of its own: a crash of native code takes down one model, for a moment. */
import { setTimeout as pauseFor } from "node:timers/promises";
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { Log } from "../core/log.ts";
import type { LoadedModel } from "../core/models/model.ts";
import type { LoadOptions, ModelHost, ModelSpec } from "../core/ports/model-host.ts";
import type { Reranker } from "../core/ports/reranker.ts";
import type { Program } from "../subprocess/program.ts";
import type { EngineSettings, Work } from "./protocol.ts";
import { remoteChatEngine, remoteEmbeddingEngine, remoteReranker } from "./remote-engines.ts";
import { Runner } from "./runner.ts";
import { ThreadShares } from "./thread-shares.ts";

export interface RunnerHostOptions {
  program: Program;
  /** `threads`: the budget of all of them together. */
  engine: EngineSettings;
  log: Log;
  /** How long a model's process may leave its heartbeat unanswered before it is started again; 0: for ever. */
  heartbeatTimeoutMs: number;
  /** Hears that a model's process died, or hung, and is started again. */
  onRestart?: (model: string, why: { hung: boolean }) => void;
  /** Most memory of all models together, with the function that says how much one needs. */
  memory?: { limit: number; bytesOf: (work: Work) => Promise<number> };
}

/** A model's process, and what it takes. */
interface Resident {
  runner: Runner | undefined;
  bytes: number;
}

/** What the process of the reranking model is called. */
export const rerankerName = "reranker";

/** Embeddings and rankings have no bound of their own on who waits. */
const mostWaiting = 1024;

export class RunnerHost implements ModelHost {
  readonly #options: RunnerHostOptions;
  readonly #shares: ThreadShares;
  readonly #residents = new Map<string, Resident>();
  /** Memory for processes that are being started, by the name of their model. */
  readonly #promised = new Map<string, number>();
  /** Settles when whoever asked for room last has it, or gave up. */
  #lastGrant: Promise<void> = Promise.resolve();
  #version = "not loaded yet";

  constructor(options: RunnerHostOptions) {
    this.#options = options;
    this.#shares = new ThreadShares(options.engine.threads);
  }

  get version(): string {
    return this.#version;
  }

  get threads(): number {
    return this.#options.engine.threads;
  }

  /** The processes there are, by the name of their model. */
  processes(): { model: string; pid: number }[] {
    return [...this.#residents].flatMap(([model, { runner }]) =>
      runner?.pid === undefined ? [] : [{ model, pid: runner.pid }],
    );
  }

  /** Resident bytes of a model's process; undefined where it sleeps, or has not said. */
  residentBytes(model: string): number | undefined {
    return this.#residents.get(model)?.runner?.residentBytes;
  }

  async loadModel(spec: ModelSpec, options: LoadOptions): Promise<LoadedModel> {
    const most = spec.type === "chat" ? spec.maxQueue + spec.parallel : mostWaiting;
    const runner = await this.#start({
      name: spec.name,
      work: { type: "model", spec },
      mostWaiting: most,
      loading: options,
      ...given({ keepAliveMs: spec.keepAliveMs }),
    });
    const { facts } = runner;
    const shared = {
      problem: () => runner.problem(),
      [Symbol.asyncDispose]: () => this.#end(spec.name),
    };
    if (facts.type === "chat") {
      return { ...facts, engine: remoteChatEngine(runner, facts), ...shared };
    }
    if (facts.type === "embedding") {
      return { ...facts, engine: remoteEmbeddingEngine(runner, facts), ...shared };
    }
    throw new NodeError("internal", `The model '${spec.name}' was loaded as a reranking model.`);
  }

  async loadReranker(path: string, options: LoadOptions): Promise<Reranker> {
    const name = rerankerName;
    const work: Work = { type: "reranker", name, path };
    const runner = await this.#start({ name, work, mostWaiting, loading: options });
    return remoteReranker(runner);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#residents.keys()].map((name) => this.#end(name)));
  }

  async #start({ name, work, mostWaiting: most, loading, keepAliveMs }: Start): Promise<Runner> {
    const { program, engine, log, heartbeatTimeoutMs, onRestart } = this.#options;
    const bytes = (await this.#options.memory?.bytesOf(work)) ?? 0;
    const resident: Resident = { runner: undefined, bytes };
    const makeRoom = (signal: AbortSignal): Promise<Disposable> =>
      this.#makeRoom(name, bytes, signal);
    using _ = await makeRoom(loading.signal);
    resident.runner = await Runner.start(
      {
        program,
        name,
        engine,
        work,
        log,
        heartbeatTimeoutMs,
        shares: this.#shares,
        mostWaiting: most,
        makeRoom,
        onRestart: (hung) => onRestart?.(name, { hung }),
        ...given({ keepAliveMs }),
      },
      loading,
    );
    this.#residents.set(name, resident);
    this.#version = resident.runner.version;
    return resident.runner;
  }

  /** Unloads models until another fits; one that is at work finishes that, and what comes for it waits. */
  async #makeRoom(name: string, bytes: number, signal: AbortSignal): Promise<Disposable> {
    const { memory } = this.#options;
    const kept = { [Symbol.dispose]: () => void this.#promised.delete(name) };
    if (memory === undefined) return kept;
    if (bytes > memory.limit) {
      throw new NodeError(
        "unavailable",
        `The model '${name}' needs about ${megabytes(bytes)} of memory, and [engine] memory_limit allows ${megabytes(memory.limit)} for all models. Raise the limit, or choose a smaller model, context or 'parallel'.`,
      );
    }
    // First come, first served: one that was unloaded for another does not come before it again.
    const { promise: isGranted, resolve: grant } = Promise.withResolvers<void>();
    const before = this.#lastGrant;
    this.#lastGrant = isGranted;
    try {
      await before;
      await this.#unloadFor(name, bytes, memory.limit, signal);
      this.#promised.set(name, bytes);
      return kept;
    } finally {
      grant();
    }
  }

  async #unloadFor(name: string, bytes: number, limit: number, signal: AbortSignal): Promise<void> {
    while (this.#taken(name) + bytes > limit) {
      signal.throwIfAborted();
      const next = this.#leastUsed(name);
      // Memory that is promised to another may become one that can be put to sleep.
      if (next === undefined) {
        await pauseFor(pollMs, undefined, { signal });
        continue;
      }
      const fields = { model: next.name, for: name };
      this.#options.log.info("a model is unloaded to make room for another", fields);
      await next.runner.retire(signal);
    }
  }

  /** Memory of the models that are awake or about to be, but for one. */
  #taken(but: string): number {
    const awake = [...this.#residents].filter(([, { runner }]) => runner?.pid !== undefined);
    const taken = new Map([
      ...awake.map(([name, { bytes }]) => [name, bytes] as const),
      ...this.#promised,
    ]);
    taken.delete(but);
    return taken.values().reduce((sum, bytes) => sum + bytes, 0);
  }

  /** One that has no calls before one that has; then the one unused for longest. */
  #leastUsed(but: string): { name: string; runner: Runner } | undefined {
    return [...this.#residents]
      .flatMap(([name, { runner, bytes }]) =>
        name !== but && runner?.pid !== undefined && bytes > 0 ? [{ name, runner }] : [],
      )
      .sort(
        (a, b) =>
          Number(a.runner.isBusy) - Number(b.runner.isBusy) ||
          a.runner.lastUsed - b.runner.lastUsed,
      )
      .at(0);
  }

  async #end(name: string): Promise<void> {
    const resident = this.#residents.get(name);
    this.#residents.delete(name);
    await resident?.runner?.[Symbol.asyncDispose]();
  }
}

interface Start {
  name: string;
  work: Work;
  mostWaiting: number;
  loading: LoadOptions;
  keepAliveMs?: number;
}

/** How often it is looked whether a model that is in the way has become idle. */
const pollMs = 20;

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`;
