/** Models that run elsewhere: opened once their servers can be asked, which are asked gently until then. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ModelConfig } from "../config/model-schema.ts";
import type { Config } from "../config/schema.ts";
import { isUpstream, upstreamUrls } from "../config/upstream-source.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { LoadedModel } from "../core/models/model.ts";
import { openUpstreamModel } from "../upstream/open-upstream.ts";
import type { UpstreamTarget } from "../upstream/upstream-target.ts";
import { toUpstreamSpec } from "./node-settings.ts";
import { type TargetOptions, toUpstreamTarget } from "./upstream-target.ts";

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
