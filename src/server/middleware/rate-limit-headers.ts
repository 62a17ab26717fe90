/** What a caller has left, as the OpenAI API's headers. */
import type { Allowance, Standing } from "../../core/limits/rate-limiter.ts";

export function rateLimitHeaders({ requests, tokens }: Standing): Record<string, string> {
  return { ...headersOf("requests", requests), ...headersOf("tokens", tokens) };
}

function headersOf(what: string, allowance: Allowance | undefined): Record<string, string> {
  if (allowance === undefined) return {};
  return {
    [`x-ratelimit-limit-${what}`]: String(allowance.limit),
    [`x-ratelimit-remaining-${what}`]: String(allowance.remaining),
    [`x-ratelimit-reset-${what}`]: formatReset(allowance.resetMs),
  };
}

/** `250ms`, `1s`, `6m0s`; rounded up. */
export function formatReset(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
