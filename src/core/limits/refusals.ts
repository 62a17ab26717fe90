/** What a caller beyond its limits is told, by a node alone or by several that share limits. */
import { NodeError } from "../errors.ts";
import type { LimitedCaller } from "./rate-limiter.ts";

export interface Standing {
  /** Answers in progress. */
  active: number;
  /** How long until there is one more request; 0 where there is now. */
  requestsWaitMs: number;
  /** The same for tokens. */
  tokensWaitMs: number;
}

/** Nobody knows when an answer in progress will end. */
const placeRetryMs = 1000;

/** Why one more request is refused; undefined where it is not. */
export function refusalOf(
  { called, limits, takesPlace = true }: LimitedCaller,
  { active, requestsWaitMs, tokensWaitMs }: Standing,
): NodeError | undefined {
  const { concurrency, requestsPerMinute, tokensPerMinute } = limits;
  if (takesPlace && concurrency > 0 && active >= concurrency) {
    return refusal("too_many_requests", placeRetryMs, [
      `${called} may have ${concurrency} requests in progress at once, and has ${active}.`,
      "Try again when one has ended.",
    ]);
  }
  if (requestsWaitMs > 0) {
    return refusal("too_many_requests", requestsWaitMs, [
      `${called} may make ${requestsPerMinute} requests a minute.`,
      tryAgain(requestsWaitMs),
    ]);
  }
  if (tokensWaitMs > 0) {
    return refusal("too_many_tokens", tokensWaitMs, [
      `${called} may use ${tokensPerMinute} tokens a minute, and has used them.`,
      tryAgain(tokensWaitMs),
    ]);
  }
  return undefined;
}

/** Why a request, which has one place already, is refused for so many answers; undefined where it is not. */
export function tooManyAnswers(
  { called, limits: { concurrency } }: LimitedCaller,
  { answers, active }: { answers: number; active: number },
): NodeError | undefined {
  const wanted = active + answers - 1;
  if (concurrency === 0) return undefined;
  if (answers > concurrency) {
    return new NodeError(
      "invalid_request",
      `The request asks for ${answers} answers at a time ('n', 'best_of' or several prompts); ${called} may have ${concurrency} in progress at once.`,
      { param: "n" },
    );
  }
  if (wanted <= concurrency) return undefined;
  return refusal("too_many_requests", placeRetryMs, [
    `${called} may have ${concurrency} answers in progress at once; with the ${answers} of this request there would be ${wanted}.`,
    "Try again when one has ended.",
  ]);
}

const tryAgain = (ms: number): string => `Try again in ${Math.ceil(ms / 1000)} s.`;

const refusal = (
  kind: "too_many_requests" | "too_many_tokens",
  retryAfterMs: number,
  sentences: readonly string[],
): NodeError => new NodeError(kind, `Rate limit reached. ${sentences.join(" ")}`, { retryAfterMs });
