/** A reranking model whose calls are counted and timed. */
import type { Ranking, RankOptions, Reranker } from "../ports/reranker.ts";
import { measuredCall } from "./measured-call.ts";
import type { ModelActivity } from "./model-activity.ts";

export class MeasuredReranker implements Reranker {
  readonly #model: string;
  readonly #reranker: Reranker;
  readonly #activity: ModelActivity;

  constructor(model: string, reranker: Reranker, activity: ModelActivity) {
    this.#model = model;
    this.#reranker = reranker;
    this.#activity = activity;
  }

  get maxTokens(): number {
    return this.#reranker.maxTokens;
  }

  async rank(
    question: string,
    passages: readonly string[],
    { report = () => {}, onStart, ...options }: RankOptions,
  ): Promise<Ranking> {
    const called = { model: this.#model, modelType: "reranker", activity: this.#activity } as const;
    const { result, from, to } = await measuredCall(called, { report, onStart }, (start) =>
      this.#reranker.rank(question, passages, { ...options, onStart: start }),
    );
    const { tokens } = result;
    report({ type: "reranked", model: this.#model, passages: passages.length, tokens, from, to });
    return result;
  }
}
