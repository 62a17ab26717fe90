/** Log probabilities of tokens, as a response has them. */
import type { TokenLogprob, TokenLogprobs } from "../../../core/ports/chat-engine.ts";
import type { Logprobs } from "./output-schema.ts";

export const toLogprobs = (logprobs: readonly TokenLogprobs[]): Logprobs =>
  logprobs.map(({ top, ...token }) => ({ ...toLogprob(token), top_logprobs: top.map(toLogprob) }));

const toLogprob = ({ token, logprob, bytes }: TokenLogprob) => ({
  token,
  logprob,
  bytes: [...bytes],
});
