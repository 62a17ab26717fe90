/** What a caller has left, as the OpenAI API's headers. */
import type { RateLimitStatus } from "../../core/limits/rate-limiter.ts";
import type { RateLimit } from "../../core/limits/token-bucket.ts";

export function rateLimitHeaders({ requests, tokens }: RateLimitStatus): Record<string, string> {
  return { ...headersOf("requests", requests), ...headersOf("tokens", tokens) };
}

function headersOf(what: string, rateLimit: RateLimit | undefined): Record<string, string> {
  if (rateLimit === undefined) return {};
  return {
    [`x-ratelimit-limit-${what}`]: String(rateLimit.limit),
    [`x-ratelimit-remaining-${what}`]: String(rateLimit.remaining),
    [`x-ratelimit-reset-${what}`]: formatReset(rateLimit.resetMs),
  };
}

/** `250ms`, `1s`, `6m0s`; rounded up. */
export function formatReset(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
