/** The replicas of every model elsewhere, by the model's name: the one place that a changed configuration reaches them. */
import type { Config } from "../config/schema.ts";
import { isUpstream, upstreamUrls } from "../config/upstream-source.ts";
import type { Log } from "../core/log.ts";
import type { ReplicaTelemetry } from "../core/ports/replica-telemetry.ts";
import type { Probe } from "../upstream/replicas/probes.ts";
import { ReplicaSet } from "../upstream/replicas/replica-set.ts";

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
