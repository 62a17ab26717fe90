/** The replicas of every model elsewhere, by the model's name: the one place that a changed configuration reaches them. */
import type { Log } from "../core/log.ts";
import type { ReplicaTelemetry } from "../core/ports/replica-telemetry.ts";
import type { Probe } from "../upstream/replicas/probes.ts";
import { ReplicaSet } from "../upstream/replicas/replica-set.ts";

export interface ModelReplicasOptions {
  telemetry: ReplicaTelemetry;
  log: Log;
}

export class ModelReplicas implements Disposable {
  readonly #options: ModelReplicasOptions;
  readonly #sets = new Map<string, ReplicaSet>();
  /** What was changed before the model was opened. */
  readonly #changed = new Map<string, readonly string[]>();
  readonly #resources = new DisposableStack();

  constructor(options: ModelReplicasOptions) {
    this.#options = options;
  }

  /** The replicas of a model at these addresses, or at those that it was given meanwhile. */
  open(model: string, urls: readonly string[], probe?: Probe): ReplicaSet {
    const { telemetry, log } = this.#options;
    const set = new ReplicaSet({
      model,
      urls: this.#changed.get(model) ?? urls,
      ...(probe === undefined ? {} : { probe }),
      log,
      onEvent: (event) => telemetry.happened(model, event),
    });
    this.#sets.set(model, set);
    this.#resources.use(telemetry.watch(model, () => set.status()));
    return this.#resources.use(set);
  }

  /** From now on the model is at these addresses. What is in progress goes on. */
  update(model: string, urls: readonly string[]): void {
    this.#changed.set(model, urls);
    this.#sets.get(model)?.update(urls);
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }
}
