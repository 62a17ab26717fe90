/** Models that run elsewhere: opened once their servers can be asked, which are asked gently until then. */
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../../config/config-error.ts";
import type { ModelConfig } from "../../config/model-schema.ts";
import type { Config } from "../../config/schema.ts";
import { isUpstream, upstreamUrls } from "../../config/upstream-source.ts";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { Log } from "../../core/log.ts";
import type { LoadedModel } from "../../core/models/model.ts";
import type { ReplicaTelemetry } from "../../core/ports/replica-telemetry.ts";
import { openUpstreamModel } from "../../upstream/open-upstream.ts";
import { probeServer } from "../../upstream/probe-server.ts";
import type { Probe } from "../../upstream/replicas/probes.ts";
import { ReplicaSet } from "../../upstream/replicas/replica-set.ts";
import type { UpstreamTarget } from "../../upstream/upstream-target.ts";
import { toUpstreamSpec } from "../node-settings.ts";

export interface UpstreamModelsOptions extends TargetOptions {
  config: Config;
}

export interface OpeningListener {
  onLoaded: (model: LoadedModel) => void;
  /** It cannot be asked now, and is asked again. */
  onWaiting: (name: string, reason: NodeError) => void;
}

/** How long it is waited before a server is asked again; longer each time, up to the last. */
const pausesMs = [1000, 2000, 4000, 8000, 10_000];

/** Disposing it closes the models and ends their answers. */
export class UpstreamModels implements AsyncDisposable {
  readonly #options: UpstreamModelsOptions;
  readonly #targets = new Map<string, UpstreamTarget>();
  readonly #resources = new AsyncDisposableStack();
  readonly #opening = new Map<string, Promise<void>>();

  /** Throws a ConfigError where a key is not there. */
  constructor(options: UpstreamModelsOptions) {
    this.#options = options;
    for (const model of options.config.models.filter(({ source }) => isUpstream(source))) {
      const target = toUpstreamTarget(model, options);
      this.#resources.use(target.replicas);
      this.#targets.set(model.name, target);
    }
  }

  /** Throws where its server cannot be asked, or refuses. */
  async open(model: ModelConfig, signal: AbortSignal): Promise<LoadedModel> {
    const target = this.#targets.get(model.name);
    if (target === undefined) throw new NodeError("internal", "The model runs on this machine.");
    const loaded = this.#resources.use(
      await openUpstreamModel(toUpstreamSpec(model), target, signal),
    );
    const { upstream, settings } = loaded.card;
    this.#options.log.info("a model is ready", {
      model: model.name,
      type: model.type,
      server: upstream?.server,
      urls: upstream?.urls(),
      tokens: upstream?.tokens,
      ctx_size: settings.ctxSize,
    });
    return loaded;
  }

  /** Opens each of them when it can be; settles when each was tried once. */
  async openAll(
    models: readonly ModelConfig[],
    listener: OpeningListener,
    signal: AbortSignal,
  ): Promise<void> {
    await Promise.all(
      models.map(async (model) => {
        const tried = Promise.withResolvers<void>();
        const opening = this.#keepTrying(model, listener, signal, tried.resolve);
        this.#opening.set(model.name, opening.finally(tried.resolve));
        await tried.promise;
      }),
    );
  }

  /** Settles when a model that is being opened is there, or never will be. */
  async opened(name: string): Promise<void> {
    await this.#opening.get(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  async #keepTrying(
    model: ModelConfig,
    { onLoaded, onWaiting }: OpeningListener,
    signal: AbortSignal,
    onTried: () => void,
  ): Promise<void> {
    let said: string | undefined;
    for (let attempts = 0; !signal.aborted; attempts++) {
      try {
        onLoaded(await this.open(model, signal));
        return;
      } catch (error) {
        if (signal.aborted) return;
        const reason =
          error instanceof NodeError ? error : new NodeError("unavailable", reasonOf(error));
        onWaiting(model.name, reason);
        if (reason.message !== said) this.#tell(model, reason);
        said = reason.message;
      }
      onTried();
      // Ended early when the node stops.
      const pause = pausesMs[Math.min(attempts, pausesMs.length - 1)];
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  }

  #tell(model: ModelConfig, { message: reason }: NodeError): void {
    this.#options.log.warn("a model that runs elsewhere is not ready; its server is asked again", {
      model: model.name,
      urls: upstreamUrls(model),
      reason,
    });
  }
}

// What a model of the configuration that runs elsewhere is asked with: its addresses, its name there, its key.

/** The value of an environment variable. */
export type SecretOf = (variable: string) => string | undefined;

/** What of a model's settings is about where it runs. */
export type UpstreamSettings = Pick<
  ModelConfig,
  "name" | "source" | "replicas" | "upstream_model" | "api_key_env" | "upstream_timeout"
>;

export interface TargetOptions {
  secretOf?: SecretOf;
  /** Where its replicas are opened; default: apart from all others. */
  replicas?: ModelReplicas;
  log: Log;
}

/** Throws a ConfigError where the key is not there; its replicas are the caller's to dispose of. */
export function toUpstreamTarget(
  settings: UpstreamSettings,
  { secretOf, log, replicas = new ModelReplicas({ log }) }: TargetOptions,
): UpstreamTarget & { replicas: Disposable } {
  const { name, upstream_model: upstreamModel } = settings;
  const named = `the model '${name}'`;
  const key = keyOf(named, settings.api_key_env, secretOf);
  return {
    named,
    upstreamModel: upstreamModel ?? name,
    silenceMs: settings.upstream_timeout * 1000,
    replicas: replicas.open({
      name,
      named,
      urls: upstreamUrls(settings),
      probe: probeServer(key),
    }),
    log,
    ...given({ key }),
  };
}

function keyOf(
  named: string,
  variable: string | undefined,
  secretOf: SecretOf | undefined,
): string | undefined {
  if (variable === undefined) return undefined;
  // What a file or a command put there may end in a line break.
  const key = secretOf?.(variable)?.trim() ?? "";
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new ConfigError(
    `The environment variable ${variable} ${key === "" ? "is not set" : "holds what is no key"}: 'api_key_env' of ${named} says that it holds the key of its server.`,
  );
}

/** The replicas of every model elsewhere, by the model's name: the one place that a changed configuration reaches them. */

export interface ModelReplicasOptions {
  /** Default: nobody counts. */
  telemetry?: ReplicaTelemetry;
  log: Log;
}

export interface OpenReplicas {
  /** The model's name. */
  name: string;
  /** In a sentence: `the model 'llama-70b'`. */
  named: string;
  urls: readonly string[];
  probe: Probe;
}

export class ModelReplicas implements Disposable {
  readonly #options: ModelReplicasOptions;
  readonly #sets = new Map<string, ReplicaSet>();
  /** The addresses of a configuration that was read since the start, for a model that is opened later. */
  readonly #changed = new Map<string, readonly string[]>();
  readonly #resources = new DisposableStack();

  constructor(options: ModelReplicasOptions) {
    this.#options = options;
  }

  open({ name, named, urls, probe }: OpenReplicas): ReplicaSet {
    const { telemetry, log } = this.#options;
    const set = new ReplicaSet({
      model: name,
      named,
      urls: this.#changed.get(name) ?? urls,
      probe,
      log,
      onEvent: (event) => telemetry?.happened(name, event),
    });
    this.#sets.set(name, set);
    if (telemetry !== undefined) {
      this.#resources.use(telemetry.watch(name, () => set.status()));
    }
    return this.#resources.use(set);
  }

  /** From now on models are at the addresses of this configuration. What is in progress goes on. */
  apply({ models }: Config): void {
    for (const model of models) {
      if (isUpstream(model.source)) this.#update(model.name, upstreamUrls(model));
    }
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }

  #update(name: string, urls: readonly string[]): void {
    this.#changed.set(name, urls);
    this.#sets.get(name)?.update(urls);
  }
}
