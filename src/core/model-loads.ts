/** How busy the models are, and the models themselves so measured: they answer as they did before. */
import { MeasuredChatEngine } from "./measured-chat-engine.ts";
import { MeasuredEmbeddingEngine } from "./measured-embedding-engine.ts";
import type { LoadedModel } from "./model.ts";
import { type ModelBounds, ModelLoad } from "./model-load.ts";

export class ModelLoads {
  readonly #loads: ReadonlyMap<string, ModelLoad>;

  constructor(models: readonly ModelBounds[]) {
    this.#loads = new Map(models.map((bounds) => [bounds.name, new ModelLoad(bounds)]));
  }

  /** Every model's, in the order of the configuration. */
  all(): ModelLoad[] {
    return [...this.#loads.values()];
  }

  /** Why models would refuse another call. */
  problems(): string[] {
    return this.all().flatMap(({ problem }) => problem ?? []);
  }

  /** The model, measured; one that is loaded again goes on with the same counts. */
  measured(model: LoadedModel): LoadedModel {
    const { name } = model.card;
    const load = this.#loads.get(name);
    if (load === undefined) return model;
    const { card, fingerprint } = model;
    const same = {
      card,
      fingerprint,
      problem: () => model.problem?.(),
      [Symbol.asyncDispose]: () => model[Symbol.asyncDispose](),
    };
    if (model.type === "chat") {
      const engine = new MeasuredChatEngine(name, model.engine, load);
      return { type: "chat", engine, threads: model.threads, ...same };
    }
    const engine = new MeasuredEmbeddingEngine(name, model.engine, load);
    return { type: "embedding", engine, identity: model.identity, ...same };
  }
}
