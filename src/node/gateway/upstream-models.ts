/** Models on upstream servers: opens them once their servers answer, and updates their addresses on reload. */
import { ConfigError } from "../../config/consistency.ts";
import { isUpstream, type ModelConfig, upstreamUrls } from "../../config/model-schema.ts";
import type { Config } from "../../config/schema.ts";
import { pause } from "../../core/abort.ts";
import { asNodeError, NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { Log } from "../../core/log.ts";
import type { LoadedModel } from "../../core/models/model.ts";
import type { ReplicaEvent, ReplicaTelemetry } from "../../core/ports/telemetry.ts";
import { ReplicaSet } from "../../gateway/replicas/replica-set.ts";
import type { Upstream } from "../../gateway/upstream/ask.ts";
import { openUpstreamModel } from "../../gateway/upstream/open-model.ts";
import { probeServer } from "../../gateway/upstream/server-facts.ts";
import { toUpstreamSpec } from "../node-settings.ts";

export type SecretOf = (variable: string) => string | undefined;

export interface UpstreamModelsOptions {
  config: Config;
  secretOf?: SecretOf;
  telemetry?: ReplicaTelemetry;
  log: Log;
}

export interface OpeningListener {
  onLoaded: (model: LoadedModel) => void;
  /** Its server does not answer yet, and is retried. */
  onWaiting: (name: string, reason: NodeError) => void;
}

/** An upstream whose addresses can change; the caller disposes of its replicas. */
type ConfiguredUpstream = Upstream & { replicas: ReplicaSet };

/** Pauses between the first attempts to reach a server, and between later ones. */
const pausesMs = [1000, 2000, 4000, 8000];
const longestPauseMs = 10_000;

/** Disposing of it closes the models and ends their answers. */
export class UpstreamModels implements AsyncDisposable {
  readonly #options: UpstreamModelsOptions;
  readonly #upstreams = new Map<string, ConfiguredUpstream>();
  readonly #resources = new AsyncDisposableStack();
  readonly #opening = new Map<string, Promise<void>>();

  /** Throws a ConfigError if a key is missing. */
  constructor(options: UpstreamModelsOptions) {
    this.#options = options;
    const { config, secretOf, telemetry, log } = options;
    for (const model of config.models.filter(({ source }) => isUpstream(source))) {
      const { name } = model;
      const onEvent = (event: ReplicaEvent): void => telemetry?.happened(name, event);
      const upstream = toUpstream(model, { log, onEvent, ...given({ secretOf }) });
      const { replicas } = upstream;
      this.#resources.use(replicas);
      if (telemetry !== undefined) {
        this.#resources.use(telemetry.watch(name, () => replicas.status()));
      }
      this.#upstreams.set(name, upstream);
    }
  }

  async open(model: ModelConfig, signal: AbortSignal): Promise<LoadedModel> {
    const upstream = this.#upstreams.get(model.name);
    if (upstream === undefined) throw new NodeError("internal", "The model runs on this machine.");
    const loaded = this.#resources.use(
      await openUpstreamModel(toUpstreamSpec(model), upstream, signal),
    );
    const { card } = loaded;
    this.#options.log.info("a model is ready", {
      model: model.name,
      type: model.type,
      server: card.upstream?.server,
      urls: card.upstream?.urls(),
      tokens: card.upstream?.tokens,
      ctx_size: card.settings.ctxSize,
    });
    return loaded;
  }

  /** Opens each model once its server answers; settles when each was tried once. */
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

  async opened(name: string): Promise<void> {
    await this.#opening.get(name);
  }

  /** Switches to the addresses of this configuration. Requests in progress go on. */
  apply({ models }: Config): void {
    for (const model of models) {
      if (isUpstream(model.source)) {
        this.#upstreams.get(model.name)?.replicas.update(upstreamUrls(model));
      }
    }
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
    let logged: string | undefined;
    for (let attempts = 0; !signal.aborted; attempts++) {
      try {
        onLoaded(await this.open(model, signal));
        return;
      } catch (error) {
        if (signal.aborted) return;
        const reason = asNodeError(error);
        onWaiting(model.name, reason);
        if (reason.message !== logged) {
          this.#options.log.warn("an upstream model is not ready; its server is tried again", {
            model: model.name,
            urls: upstreamUrls(model),
            reason: reason.message,
          });
        }
        logged = reason.message;
      }
      onTried();
      await pause(pausesMs[attempts] ?? longestPauseMs, signal);
    }
  }
}

/** Throws a ConfigError if its key is missing. */
export function toUpstream(
  model: ModelConfig,
  {
    secretOf,
    log,
    onEvent = () => {},
  }: { secretOf?: SecretOf; log: Log; onEvent?: (event: ReplicaEvent) => void },
): ConfiguredUpstream {
  const { name, upstream_model: upstreamModel = name, api_key_env: variable } = model;
  const named = `the model '${name}'`;
  // A value from a file or a command may end with a line break.
  const key = variable === undefined ? undefined : (secretOf?.(variable)?.trim() ?? "");
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw new ConfigError(
      `The environment variable ${variable} ${key === "" ? "is not set" : "is not a valid key"}: 'api_key_env' of ${named} says that it holds the key of its server.`,
    );
  }
  const probe = probeServer(key);
  const urls = upstreamUrls(model);
  return {
    named,
    upstreamModel,
    silenceMs: model.upstream_timeout * 1000,
    replicas: new ReplicaSet({ model: name, urls, probe, log, onEvent }),
    log,
    ...given({ key }),
  };
}
