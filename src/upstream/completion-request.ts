/** A prompt without a template as a request of the OpenAI API's completions, which the server has itself. */
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { CompletionRequest } from "../core/ports/chat-engine.ts";
import { type ChatRequestOptions, saltOf } from "./chat-request.ts";
import { toSampling } from "./server-kind.ts";

/** JSON. Throws where servers do not agree on what they would make of it. */
export function toCompletionBody(
  request: CompletionRequest,
  { model, kind, contextSize, prefixScope }: ChatRequestOptions,
): string {
  refuseUnknown(request);
  const leastLogprobs = kind === "llama-server" ? 1 : 0;
  const { prompt, sampling, maxTokens, seed, stop, logitBias, topLogprobs } = request;
  return JSON.stringify({
    model,
    prompt,
    stream: true,
    stream_options: { include_usage: true },
    ...toSampling(sampling, kind, contextSize),
    ...given({
      max_tokens: maxTokens,
      seed,
      stop,
      logit_bias: logitBias && Object.fromEntries(logitBias),
      // With 0 of them llama-server reports none at all, not even the token's own.
      logprobs: topLogprobs === undefined ? undefined : Math.max(topLogprobs, leastLogprobs),
      cache_salt: saltOf(kind, prefixScope),
    }),
  });
}

/** The prompt, where it comes before the answer: servers do not all give it back. */
export function echoOf({ prompt, echo }: CompletionRequest): string {
  return echo === true && typeof prompt === "string" ? prompt : "";
}

function refuseUnknown({ prompt, echo, suffix, topLogprobs, maxTokens }: CompletionRequest): void {
  if (suffix !== undefined) {
    throw refused("suffix", "write the model's own tokens for filling in into 'prompt'");
  }
  if (echo === true && topLogprobs !== undefined) throw refused("echo", "leave out 'logprobs'");
  if (echo === true && typeof prompt !== "string") throw refused("echo", "send 'prompt' as text");
  if (maxTokens === 0) throw refused("max_tokens", "send at least 1");
}

const refused = (param: string, what: string): NodeError =>
  new NodeError(
    "invalid_request",
    `'${param}' cannot be honoured like this for a model that runs elsewhere; ${what}.`,
    { param },
  );
