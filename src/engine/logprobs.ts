/** Log probabilities in the convention's terms, out of the distribution that a token was drawn from. */
import type { Token } from "node-llama-cpp";
import type { TokenLogprob, TokenLogprobs } from "../core/ports/chat-engine.ts";
import type { TokenBytes } from "./token-bytes.ts";

/** As low as the convention goes for what was not drawn from at all. */
const lowest = -9999;
const decoder = new TextDecoder();

export function toLogprobs(
  tokenBytes: TokenBytes,
  token: Token,
  probabilities: ReadonlyMap<Token, number>,
  top: number,
): TokenLogprobs {
  const likeliest = [...probabilities.entries().take(top)].map(([candidate, probability]) =>
    describe(tokenBytes, candidate, probability),
  );
  return { ...describe(tokenBytes, token, probabilities.get(token) ?? 0), top: likeliest };
}

function describe(tokenBytes: TokenBytes, token: Token, probability: number): TokenLogprob {
  const bytes = tokenBytes.of(token);
  return {
    token: decoder.decode(bytes),
    logprob: probability > 0 ? Math.log(probability) : lowest,
    bytes: [...bytes],
  };
}
