/** Headers of Anthropic's API: what a caller has left, and what of the request's is not acted on. */
import type { RateLimit } from "../../../core/limits/token-bucket.ts";
import type { HeaderFormat } from "../../operation.ts";

export const messageHeaders: HeaderFormat = {
  requestId: "request-id",
  rateLimit: ({ requests, tokens }) => ({
    ...headersOf("requests", requests),
    ...headersOf("tokens", tokens),
  }),
};

function headersOf(what: string, rateLimit: RateLimit | undefined): Record<string, string> {
  if (rateLimit === undefined) return {};
  const { limit, remaining, resetMs } = rateLimit;
  return {
    [`anthropic-ratelimit-${what}-limit`]: String(limit),
    [`anthropic-ratelimit-${what}-remaining`]: String(remaining),
    [`anthropic-ratelimit-${what}-reset`]: whenReset(resetMs),
  };
}

/** In whole seconds, as the API has it; rounded up. */
const whenReset = (ms: number): string =>
  new Date(Math.ceil((Date.now() + ms) / 1000) * 1000).toISOString().replace(".000Z", "Z");

/** What the node answers is the same in both. */
const versions = new Set(["2023-06-01", "2026-10-21"]);

/** What they ask for is done for every request. */
const betas = new Set([
  "prompt-caching-2024-07-31",
  "extended-cache-ttl-2025-04-11",
  "token-counting-2024-11-01",
  "fine-grained-tool-streaming-2025-05-14",
  "structured-outputs-2025-11-13",
  "model-context-window-exceeded-2025-08-26",
]);

/** Names of what the headers ask for and the node does not act on. */
export function ignoredHeaders(headers: Headers): string[] {
  const version = headers.get("anthropic-version");
  const asked = (headers.get("anthropic-beta") ?? "").split(",").map((name) => name.trim());
  return [
    ...(version === null || versions.has(version) ? [] : ["anthropic-version"]),
    ...asked
      .filter((name) => name !== "" && !betas.has(name))
      .map((name) => `anthropic-beta.${name}`),
  ];
}
