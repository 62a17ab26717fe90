/** Log probabilities in the OpenAI API's terms, out of the distribution that a token was drawn from. */
import type { Token } from "node-llama-cpp";
import type { TokenLogprob, TokenLogprobs } from "../../core/ports/chat-engine.ts";
import type { SampledLogits } from "../native/sampler.ts";
import type { TokenBytes } from "../tokenizer/token-bytes.ts";

/** What the OpenAI API reports for a token that could not be drawn at all. */
const lowest = -9999;
const decoder = new TextDecoder();

export function toLogprobs(
  tokenBytes: TokenBytes,
  { token, logit: own, top, weight }: SampledLogits,
  wanted: number,
): TokenLogprobs {
  const greatest = top[0]?.[1] ?? Number.NaN;
  const logprobOf = (logit: number): number =>
    Math.max(logit - greatest - Math.log(weight), lowest);
  const likeliest = top
    .slice(0, wanted)
    .map(([id, logit]) => describe(tokenBytes, id, logprobOf(logit)));
  return { ...describe(tokenBytes, token, logprobOf(own)), top: likeliest };
}

export function describe(tokenBytes: TokenBytes, token: Token, logprob: number): TokenLogprob {
  const bytes = tokenBytes.of(token);
  return { token: decoder.decode(bytes), logprob, bytes: [...bytes] };
}
