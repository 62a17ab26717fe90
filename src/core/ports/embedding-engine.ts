/** What an embedding model does, whatever runs it. */

export interface Embedding {
  /** Unit length. */
  vector: Float32Array;
  tokens: number;
}

export interface EmbeddingEngine {
  /** Length of every vector. */
  readonly dimension: number;
  /** Most tokens one text may have. */
  readonly maxTokens: number;
  /** How many tokens a text has, the model's own markers included. */
  countTokens(text: string): number;
  /** Embeds the texts, each of 1 to `maxTokens` tokens; the answer is in their order. */
  embed(texts: readonly string[], options: { signal: AbortSignal }): Promise<Embedding[]>;
}
