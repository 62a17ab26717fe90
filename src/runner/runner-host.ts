/** Models each in a process of its own: a crash of native code takes down one model, for a moment. */
import { NodeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { LoadedModel } from "../core/model.ts";
import type { LoadOptions, ModelHost, ModelSpec } from "../core/ports/model-host.ts";
import type { Reranker } from "../core/ports/reranker.ts";
import type { EngineSettings, Work } from "./protocol.ts";
import { remoteChatEngine, remoteEmbeddingEngine, remoteReranker } from "./remote-engines.ts";
import { Runner } from "./runner.ts";
import { ThreadShares } from "./thread-shares.ts";

export interface RunnerHostOptions {
  /** The command line that runs this program. */
  program: readonly string[];
  /** `threads`: the budget of all of them together. */
  engine: EngineSettings;
  log: Log;
  /** Hears that a model's process died and is started again. */
  onRestart?: (model: string) => void;
}

/** Embeddings and rankings have no bound of their own on who waits. */
const mostWaiting = 1024;

export class RunnerHost implements ModelHost {
  readonly #options: RunnerHostOptions;
  readonly #shares: ThreadShares;
  readonly #runners = new Map<string, Runner>();
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
    return [...this.#runners].flatMap(([model, { pid }]) =>
      pid === undefined ? [] : [{ model, pid }],
    );
  }

  async loadModel(spec: ModelSpec, options: LoadOptions): Promise<LoadedModel> {
    const most = spec.type === "chat" ? spec.maxQueue + spec.parallel : mostWaiting;
    const runner = await this.#start(spec.name, { type: "model", spec }, most, options);
    const { facts } = runner;
    const shared = {
      problem: () => runner.problem(),
      [Symbol.asyncDispose]: () => this.#end(spec.name, runner),
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
    const name = "reranker";
    const runner = await this.#start(name, { type: "reranker", name, path }, mostWaiting, options);
    return remoteReranker(runner);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#runners].map(([name, runner]) => this.#end(name, runner)));
  }

  async #start(name: string, work: Work, most: number, loading: LoadOptions): Promise<Runner> {
    const { program, engine, log, onRestart } = this.#options;
    const runner = await Runner.start(
      {
        program,
        name,
        engine,
        work,
        log,
        shares: this.#shares,
        mostWaiting: most,
        onRestart: () => onRestart?.(name),
      },
      loading,
    );
    this.#runners.set(name, runner);
    this.#version = runner.version;
    return runner;
  }

  async #end(name: string, runner: Runner): Promise<void> {
    this.#runners.delete(name);
    await runner[Symbol.asyncDispose]();
  }
}
