/** `logit_bias` for llama.cpp's sampler. */
import { NodeError } from "../../core/errors.ts";
import type { SamplerConfig } from "../native/bindings.ts";

export type TokenBias = Required<Pick<SamplerConfig, "tokenBiasKeys" | "tokenBiasValues">>;

/** End-of-generation tokens may be biased like any other. */
export function toTokenBias(
  biases: ReadonlyMap<number, number>,
  vocabularySize: number,
): TokenBias {
  for (const id of biases.keys()) {
    if (Number.isInteger(id) && id >= 0 && id < vocabularySize) continue;
    throw new NodeError(
      "invalid_request",
      `'logit_bias' names the token ${id}; this model has the tokens 0 to ${vocabularySize - 1}.`,
      { param: "logit_bias" },
    );
  }
  return {
    tokenBiasKeys: Uint32Array.from(biases.keys()),
    tokenBiasValues: Float32Array.from(biases.values()),
  };
}
