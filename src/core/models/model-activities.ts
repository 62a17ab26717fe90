/** How busy the models are, and the models themselves so measured: they answer as they did before. */
import { given } from "../given.ts";
import { MeasuredChatEngine } from "./measured-chat-engine.ts";
import { MeasuredEmbeddingEngine } from "./measured-embedding-engine.ts";
import { MeasuredReranker } from "./measured-reranker.ts";
import type { LoadedModel } from "./model.ts";
import { ModelActivity, type ModelBounds } from "./model-activity.ts";

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
