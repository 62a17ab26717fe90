/** Port: a reranking model. */
import type { EngineCall } from "./telemetry.ts";

export interface Ranking {
  /** Relevance of each passage to the question, 0 to 1, in the order of the passages. */
  scores: number[];
  /** Tokens that the model read: the question once for each passage, or for each part of a long one. */
  tokens: number;
}

export interface RankOptions extends EngineCall {
  /** Most tokens of a passage that are read; absent: all of them. */
  maxPassageTokens?: number;
  /** Most tokens that may be read for all passages together; absent: any number. */
  maxTokens?: number;
  /** Whether to shorten a question that leaves too little room for passages; default: refuse it. */
  cutsQuestion?: boolean;
  /** Called once, when the first passage leaves the queue, with the tokens that all take to read. */
  onStart?: (tokens: number) => void;
}

export interface Reranker {
  /** Most tokens that are read at once: a question with a passage, or with a part of a long one. */
  readonly maxTokens: number;
  rank(question: string, passages: readonly string[], options: RankOptions): Promise<Ranking>;
}
