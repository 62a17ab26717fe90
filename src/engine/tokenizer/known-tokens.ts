/** Token ids of a caller as tokens of the vocabulary. */
import type { Token } from "node-llama-cpp";
import { NodeError } from "../../core/errors.ts";
import { toToken } from "../native/sampler.ts";

/** Throws where there is no such token; `param` is what the caller calls them. */
export function knownTokens(
  ids: readonly number[],
  { vocabularySize, param }: { vocabularySize: number; param: string },
): Token[] {
  return ids.map((id) => {
    if (Number.isInteger(id) && id >= 0 && id < vocabularySize) return toToken(id);
    throw new NodeError(
      "invalid_request",
      `'${param}' names the token ${id}; this model has the tokens 0 to ${vocabularySize - 1}.`,
      { param },
    );
  });
}
