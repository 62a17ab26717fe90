/** A reranking model whose calls are counted and timed. */
import type { Ranking, RankOptions, Reranker } from "../ports/reranker.ts";
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
    const model = this.#model;
    const call = this.#activity.call();
    const from = performance.now();
    let waits = true;
    const start = (): void => {
      if (!waits) return;
      waits = false;
      call.start();
      report({ type: "started", model, modelType: "reranker", waitedMs: performance.now() - from });
      onStart?.();
    };
    try {
      const ranking = await this.#reranker.rank(question, passages, { ...options, onStart: start });
      const { tokens } = ranking;
      const to = performance.now();
      report({ type: "reranked", model, passages: passages.length, tokens, from, to });
      return ranking;
    } finally {
      call.end();
    }
  }
}
