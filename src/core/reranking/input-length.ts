/** How much a reranking model is given at once, whatever runs it. */
import { NodeError } from "../errors.ts";

/** Tokens that a question may have: the other half is for passages. */
export const mostQuestionTokens = (maxTokens: number): number => Math.floor(maxTokens / 2);

export const questionTooLong = (most: number): NodeError =>
  new NodeError(
    "context_length_exceeded",
    `'query' has more than ${most} tokens, which is what this reranking model takes, so that documents have room beside it. Shorten it.`,
    { param: "query" },
  );

/** `index`: of the document with which they became too many. */
export const tooMuchToRead = (index: number, most: number): NodeError =>
  new NodeError(
    "context_length_exceeded",
    `With 'documents[${index}]' the documents come to more than ${most} tokens, the query counted beside each of them, and beside each part of one that is longer than the model reads at once. Send fewer, or cut them with 'max_tokens_per_doc'.`,
    { param: `documents[${index}]` },
  );
