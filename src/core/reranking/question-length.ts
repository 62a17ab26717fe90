/** How long a question may be, whatever runs the model that judges passages by it. */
import { NodeError } from "../errors.ts";

/** The other half is for passages. */
export const mostQuestionTokens = (maxTokens: number): number => Math.floor(maxTokens / 2);

/** `tokens`: undefined where they are too many to be counted. */
export const questionTooLong = (tokens: number | undefined, most: number): NodeError =>
  new NodeError(
    "context_length_exceeded",
    `'query' has ${tokens ?? `more than ${most}`} tokens; this reranking model takes at most ${most}, so that documents have room beside it. Shorten it.`,
    { param: "query" },
  );
