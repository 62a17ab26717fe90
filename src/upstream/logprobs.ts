/** Log probabilities as servers send them: some leave the bytes out, and some have no alternatives. */
import type { TokenLogprob, TokenLogprobs } from "../core/ports/chat-engine.ts";
import { listAt, numberAt, textAt } from "./json-fields.ts";

export const toLogprobs = (logprobs: object): TokenLogprobs[] =>
  listAt(logprobs, "content").map((token) => ({
    ...toLogprob(token),
    top: listAt(token, "top_logprobs").map(toLogprob),
  }));

/** What a token has that is as good as impossible; JSON has no infinity. */
const impossible = -9999;

function toLogprob(value: unknown): TokenLogprob {
  const token = textAt(value, "token") ?? "";
  const bytes = listAt(value, "bytes").filter((byte) => typeof byte === "number");
  return {
    token,
    logprob: numberAt(value, "logprob") ?? impossible,
    bytes: bytes.length > 0 ? bytes : [...new TextEncoder().encode(token)],
  };
}
