/** Log probabilities as servers send them: some leave the bytes out, and some have no alternatives. */
import type { TokenLogprob, TokenLogprobs } from "../core/ports/chat-engine.ts";
import { listAt, numberAt, textAt } from "./json-fields.ts";

export const toLogprobs = (logprobs: object): TokenLogprobs[] => {
  const content = listAt(logprobs, "content");
  if (content.length === 0) return fromLists(logprobs);
  return content.map((token) => ({
    ...toLogprob(token),
    top: listAt(token, "top_logprobs").map(toLogprob),
  }));
};

/** The older form of completions without a template: lists side by side. */
function fromLists(logprobs: object): TokenLogprobs[] {
  const values = listAt(logprobs, "token_logprobs");
  const tops = listAt(logprobs, "top_logprobs");
  return listAt(logprobs, "tokens").map((token, at) => ({
    ...fromName(token, values[at]),
    top: Object.entries(Object(tops[at]))
      .map(([name, value]) => fromName(name, value))
      .sort((one, other) => other.logprob - one.logprob),
  }));
}

function fromName(token: unknown, logprob: unknown): TokenLogprob {
  const text = typeof token === "string" ? token : "";
  const bytes = text.startsWith("bytes:")
    ? [...text.matchAll(/\\x([0-9a-f]{2})/gi)].map(([, hex = ""]) => Number.parseInt(hex, 16))
    : [...new TextEncoder().encode(text)];
  return { token: text, logprob: typeof logprob === "number" ? logprob : impossible, bytes };
}

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
