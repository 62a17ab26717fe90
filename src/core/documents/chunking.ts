/** How a file is cut, and what of that an embedding model can take. */
import { NodeError } from "../errors.ts";
import type { Chunking } from "./records.ts";

/** The bounds of OpenAI's API. */
export const chunkBounds = { least: 100, most: 4096 };

/** Refuses passages that the model cannot take, and an overlap that is more than half of one. */
export function checkChunking(
  { maxTokens, overlapTokens }: Chunking,
  model: { name: string; maxTokens: number },
  field: string,
): void {
  if (maxTokens > model.maxTokens) {
    throw refuse(
      `${field}.static.max_chunk_size_tokens`,
      `is ${maxTokens}; the embedding model '${model.name}' takes at most ${model.maxTokens} tokens. Send no more, or leave it to the node: { "type": "auto" }`,
    );
  }
  if (2 * overlapTokens > maxTokens) {
    throw refuse(
      `${field}.static.chunk_overlap_tokens`,
      `is ${overlapTokens}, which is more than half of the ${maxTokens} tokens of a passage`,
    );
  }
}

export const isSameChunking = (a: Chunking | undefined, b: Chunking | undefined): boolean =>
  a?.maxTokens === b?.maxTokens && a?.overlapTokens === b?.overlapTokens;

const refuse = (param: string, why: string): NodeError =>
  new NodeError("invalid_request", `'${param}' ${why}.`, { param });
