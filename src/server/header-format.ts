/** Headers that an API has beside those of the OpenAI API, which are sent too. */
import type { RateLimitStatus } from "../core/limits/rate-limiter.ts";

export interface HeaderFormat {
  /** The name of the one with the request's id. */
  requestId: string;
  /** What a caller has left. */
  rateLimit(status: RateLimitStatus): Record<string, string>;
}
