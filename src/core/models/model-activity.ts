/** How busy models are: calls that wait and calls that are served, counted where every call passes. */
import { given } from "../given.ts";
import {
  MeasuredChatEngine,
  MeasuredEmbeddingEngine,
  MeasuredReranker,
} from "./measured-engines.ts";
import type { LoadedModel } from "./model.ts";

/** A call of a model, from when it is made to its end. */
export interface Call {
  /** It left the queue; calls after the first count for nothing. */
  start(): void;
  end(): void;
}

export interface ModelBounds {
  name: string;
  /** How many calls are served at the same time; absent: not said. */
  slots?: number;
  /** How many may wait; absent: any number. */
  maxQueue?: number;
}

export class ModelActivity {
  readonly bounds: ModelBounds;
  #waiting = 0;
  #inUse = 0;

  constructor(bounds: ModelBounds) {
    this.bounds = bounds;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get inUse(): number {
    return this.#inUse;
  }

  /** Why it would refuse another call; undefined where it would not. */
  get problem(): string | undefined {
    const { name, slots = Number.POSITIVE_INFINITY, maxQueue } = this.bounds;
    if (maxQueue === undefined || this.#inUse < slots || this.#waiting < maxQueue) return undefined;
    return `The queue of the model '${name}' is full: ${this.#waiting} waiting, ${this.#inUse} being answered.`;
  }

  call(): Call {
    let state: "waiting" | "in use" | "ended" = "waiting";
    this.#waiting++;
    return {
      start: () => {
        if (state !== "waiting") return;
        state = "in use";
        this.#waiting--;
        this.#inUse++;
      },
      end: () => {
        if (state === "waiting") this.#waiting--;
        if (state === "in use") this.#inUse--;
        state = "ended";
      },
    };
  }
}

/** How busy the models are, and the models themselves so measured: they answer as they did before. */
export class ModelActivities {
  readonly #activities: ReadonlyMap<string, ModelActivity>;

  constructor(models: readonly ModelBounds[]) {
    this.#activities = new Map(models.map((bounds) => [bounds.name, new ModelActivity(bounds)]));
  }

  /** Every model's, in the order of the configuration. */
  all(): ModelActivity[] {
    return [...this.#activities.values()];
  }

  /** Whether any of them is asked for something. */
  get isBusy(): boolean {
    return this.all().some(({ waiting, inUse }) => waiting + inUse > 0);
  }

  /** Why models would refuse another call. */
  problems(): string[] {
    return this.all().flatMap(({ problem }) => problem ?? []);
  }

  /** The model, measured; one that is loaded again goes on with the same counts. */
  measured(model: LoadedModel): LoadedModel {
    const { name } = model.card;
    const activity = this.#activities.get(name);
    if (activity === undefined) return model;
    const { card, fingerprint } = model;
    const same = {
      card,
      fingerprint,
      problem: () => model.problem?.(),
      [Symbol.asyncDispose]: () => model[Symbol.asyncDispose](),
    };
    if (model.type === "chat") {
      const engine = new MeasuredChatEngine(name, model.engine, activity);
      const { ignores } = model;
      return { type: "chat", engine, ...given({ ignores }), ...same };
    }
    if (model.type === "reranker") {
      const engine = new MeasuredReranker(name, model.engine, activity);
      return { type: "reranker", engine, ...same };
    }
    const engine = new MeasuredEmbeddingEngine(name, model.engine, activity);
    return { type: "embedding", engine, identity: model.identity, ...same };
  }
}
