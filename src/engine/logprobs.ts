/** Log probabilities in the convention's terms, out of the distribution that a token was drawn from. */
import type { LlamaModel, Token } from "node-llama-cpp";
import type { TokenLogprob, TokenLogprobs } from "../core/ports/chat-engine.ts";

/** As low as the convention goes for what was not drawn from at all. */
const lowest = -9999;
const encoder = new TextEncoder();

export function toLogprobs(
  model: LlamaModel,
  token: Token,
  probabilities: ReadonlyMap<Token, number>,
  top: number,
): TokenLogprobs {
  const likeliest = [...probabilities.entries().take(top)].map(([candidate, probability]) =>
    describe(model, candidate, probability),
  );
  return { ...describe(model, token, probabilities.get(token) ?? 0), top: likeliest };
}

function describe(model: LlamaModel, token: Token, probability: number): TokenLogprob {
  // After another token, so that a word keeps its leading space.
  const text = model.detokenize([token], true, [token]);
  return {
    token: text,
    logprob: probability > 0 ? Math.log(probability) : lowest,
    bytes: text.includes("\uFFFD") ? null : [...encoder.encode(text)],
  };
}
