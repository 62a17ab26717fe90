/** An embedding engine whose calls are counted and timed. */

import type {
  Embedding,
  EmbeddingEngine,
  EmbeddingInput,
  EmbedOptions,
} from "../ports/embedding-engine.ts";
import type { Tokenizer } from "../ports/tokenizer.ts";
import { measuredCall } from "./measured-call.ts";
import type { ModelActivity } from "./model-activity.ts";

export class MeasuredEmbeddingEngine implements EmbeddingEngine {
  readonly #model: string;
  readonly #engine: EmbeddingEngine;
  readonly #activity: ModelActivity;

  constructor(model: string, engine: EmbeddingEngine, activity: ModelActivity) {
    this.#model = model;
    this.#engine = engine;
    this.#activity = activity;
  }

  get dimension(): number {
    return this.#engine.dimension;
  }

  get maxTokens(): number {
    return this.#engine.maxTokens;
  }

  get vocabularySize(): number {
    return this.#engine.vocabularySize;
  }

  get tokenizer(): Tokenizer | undefined {
    return this.#engine.tokenizer;
  }

  get estimatesTokens(): boolean {
    return this.#engine.estimatesTokens ?? false;
  }

  countTokens(...asked: Parameters<EmbeddingEngine["countTokens"]>): Promise<number[]> {
    return this.#engine.countTokens(...asked);
  }

  async embed(
    inputs: readonly EmbeddingInput[],
    { report = () => {}, onStart, ...options }: EmbedOptions,
  ): Promise<Embedding[]> {
    const model = this.#model;
    const called = { model, modelType: "embedding", activity: this.#activity } as const;
    const { result, from, to } = await measuredCall(called, { report, onStart }, (start) =>
      this.#engine.embed(inputs, { ...options, onStart: start }),
    );
    const tokens = result.reduce((sum, embedding) => sum + embedding.tokens, 0);
    report({ type: "embedded", model, inputs: inputs.length, tokens, from, to });
    return result;
  }
}
