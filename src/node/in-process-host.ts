/** Models in this process, for commands that serve nobody and for `isolation = "none"`. */
import type { Log } from "../core/log.ts";
import {
  type Accelerators,
  type EngineBackend,
  joinVersions,
  loadWithBest,
  type RejectedBackend,
  tellRejected,
} from "../core/models/engine-backends.ts";
import type { LoadOptions, ModelHost, ModelSpec } from "../core/ports/model-host.ts";
import type { LocalHost } from "../engine/local-host.ts";
import { type EngineSettings, subjectOf } from "../runner/protocol.ts";
import { tryBackend } from "../runner/try-backend.ts";
import type { Program } from "../subprocess/program.ts";

export interface InProcessHostOptions {
  /** What a backend is tried with: a crash here would end the command. */
  program: Program;
  engine: EngineSettings;
  accelerators: Accelerators;
  heartbeatTimeoutMs: number;
  log: Log;
}

export class InProcessHost implements ModelHost {
  readonly #options: InProcessHostOptions;
  /** The engine's libraries are loaded by the first model that needs them. */
  readonly #hosts = new Map<EngineBackend, LocalHost>();
  readonly #versions = new Map<string, string>();
  readonly #told = new Set<string>();

  constructor(options: InProcessHostOptions) {
    this.#options = options;
  }

  get version(): string {
    return joinVersions(this.#versions);
  }

  get threads(): number {
    return this.#options.engine.threads;
  }

  loadModel: ModelHost["loadModel"] = async (spec, options) => {
    const host = await this.#hostFor(spec, options);
    return await host.loadModel(spec, options);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.#hosts.values()) await host[Symbol.asyncDispose]();
  }

  async #hostFor(spec: ModelSpec, { signal }: LoadOptions): Promise<LocalHost> {
    const { name } = spec;
    const { program, engine, accelerators, heartbeatTimeoutMs, log } = this.#options;
    const plan = await accelerators.planFor(subjectOf(spec));
    tellRejected(log, plan.rejected, this.#told);
    const isTried = (backend: EngineBackend): boolean =>
      backend === "cpu" || plan.proven.includes(backend);
    const { loaded, rejected: better } = await loadWithBest(
      plan,
      name,
      log,
      async (backend, rejected) => {
        const settings = { ...engine, backend, rejected };
        const trial = { program, name, engine: settings, spec, heartbeatTimeoutMs, log };
        if (!isTried(backend)) await tryBackend(trial, signal);
        return await this.#open(backend, rejected);
      },
    );
    for (const { backend } of better) this.#told.add(backend);
    this.#versions.set(name, loaded.version);
    return loaded;
  }

  async #open(backend: EngineBackend, rejected: readonly RejectedBackend[]): Promise<LocalHost> {
    const known = this.#hosts.get(backend);
    if (known !== undefined) return known;
    const { engine, log } = this.#options;
    const { openLocalHost } = await import("../engine/local-host.ts");
    const host = await openLocalHost({ ...engine, backend, rejected: [...rejected], log });
    this.#hosts.set(backend, host);
    return host;
  }
}
