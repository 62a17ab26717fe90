/** What a reranking model does, whatever runs it. */

export interface Reranker extends AsyncDisposable {
  /** Why it cannot judge now, where it can fail by itself. */
  problem?: () => string | undefined;
  /** How relevant each passage is to the question, 0 to 1, in their order. */
  rank(
    question: string,
    passages: readonly string[],
    options: { signal: AbortSignal },
  ): Promise<number[]>;
}
