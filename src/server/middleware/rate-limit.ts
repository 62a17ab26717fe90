/** Rate limits: leases for requests, headers with the remaining limits, and charged tokens. */
import {
  type CallerLimits,
  type LimitedCaller,
  noLimits,
  type RateLimit,
  type RateLimiter,
  type RateLimitStatus,
} from "../../core/limits/rate-limiter.ts";
import type { Grant, Limiter } from "../../core/ports/limiter.ts";
import type { FinishedWork } from "../../core/ports/telemetry.ts";
import type { Connections } from "../listen.ts";
import type { OperationFacts } from "../operation.ts";
import { type RequestContext, usedTokens } from "../request-context.ts";
import type { Caller } from "./authentication.ts";

/** A request's place within the limits; disposed when the answer has ended, which frees it. */
export interface RateLimitLease extends Disposable {
  /** The caller whose requests count together; the name is not a secret. */
  readonly caller: string;
  /** Requests with the same scope share evaluated prompts, as do all those without one. */
  readonly prefixScope: string | undefined;
  /** Reserves a place for each answer that the request asks for, or rejects it. */
  reserve(answers: number): Promise<void>;
  /** Counts it as several requests, or rejects it. */
  countAs(requests: number): Promise<void>;
  charge(tokens: number): Promise<void>;
}

export interface RateLimitSettings {
  limiter: Limiter;
  /** Counts requests of each address, and those without a place: limits of this node alone. */
  addresses: RateLimiter;
  connections: Connections;
  callerLimits: CallerLimits;
  /** Most requests in progress from one address; 0: no limit. */
  connectionsPerClient: number;
  sharePrefixes: boolean;
}

/** Grants the request a lease or rejects it; sets headers with the caller's remaining limits. */
export async function acquireLease(
  request: Request,
  context: RequestContext,
  settings: RateLimitSettings,
  { takesPlace = true, form }: Pick<OperationFacts, "takesPlace" | "form"> = {},
): Promise<RateLimitLease> {
  const { limiter, addresses, connections, sharePrefixes } = settings;
  const caller = { ...limitedCaller(context.authenticated, request, settings), takesPlace };
  using leases = new DisposableStack();
  const client = limitedClient(request, settings);
  if (client !== undefined) leases.use(addresses.lease(client));
  const atOnce = (what: string, most: number) =>
    leases.use(addresses.lease(limitedTo(most, `${caller.id} ${what}`, caller.called)));
  if (!takesPlace) atOnce("beside", caller.limits.concurrency || mostBeside);
  if (form !== undefined) atOnce("uploading", mostUploads);
  const tell = (status: RateLimitStatus): void => {
    for (const [what, limit] of Object.entries(status)) {
      const more = context.headerFormat?.rateLimit(what, limit);
      Object.assign(context.headers, rateLimitHeaders(what, limit), more);
    }
  };
  const granted = async (asking: LimitedCaller): Promise<Grant> => {
    const decision = await limiter.acquire(asking);
    tell("refused" in decision ? decision.status : decision.status());
    if ("refused" in decision) throw decision.refused;
    return decision;
  };
  const grant = leases.use(await granted(caller));
  leases.defer(() => connections.ended(request));
  // Held until the model has finished, even if the client left before.
  const held = leases.move();
  return {
    caller: caller.id,
    prefixScope: context.authenticated.id !== undefined && !sharePrefixes ? caller.id : undefined,
    reserve: async (answers) => await grant.reserve(answers),
    countAs: async (requests) => {
      for (let more = 1; more < requests; more++) {
        (await granted({ ...caller, takesPlace: false }))[Symbol.dispose]();
      }
    },
    charge: async (tokens) => {
      await grant.charge(tokens);
      tell(grant.status());
    },
    [Symbol.dispose]: () => held.dispose(),
  };
}

/** Most requests in progress without a place, each of which may be megabytes, for a caller without `concurrency`. */
const mostBeside = 32;
/** Most uploads in progress of one caller: each has a file on the disk, and what was received in memory. */
const mostUploads = 64;

const limitedTo = (concurrency: number, id: string, called: string): LimitedCaller => ({
  id,
  called,
  limits: { ...noLimits, concurrency },
});

function limitedCaller(
  { id, called, limits }: Caller,
  request: Request,
  { connections, callerLimits }: RateLimitSettings,
): LimitedCaller {
  return {
    id: id === undefined ? `anyone ${connections.clientOf(request) ?? ""}`.trim() : `key ${id}`,
    called,
    limits: { ...callerLimits, ...limits },
  };
}

function limitedClient(
  request: Request,
  { connections, connectionsPerClient }: RateLimitSettings,
): LimitedCaller | undefined {
  const client = connections.remoteClientOf(request);
  if (connectionsPerClient === 0 || client === undefined) return undefined;
  return limitedTo(connectionsPerClient, `address ${client}`, "A client's address");
}

export const rateLimitHeaders = (what: string, limit: RateLimit): Record<string, string> => ({
  [`x-ratelimit-limit-${what}`]: String(limit.limit),
  [`x-ratelimit-remaining-${what}`]: String(limit.remaining),
  [`x-ratelimit-reset-${what}`]: formatReset(limit.resetMs),
});

/** `250ms`, `1s` or `6m0s`, rounded up. */
export function formatReset(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

/** Charges a request's tokens to its caller, once, even if the answer broke off. */
export async function meter(context: RequestContext): Promise<void> {
  if (context.isMetered) return;
  context.isMetered = true;
  const { work, signal, isAnswered } = context;
  const answers = work.filter((done) => done.type === "answered");
  const isOwed =
    answers.length === 0 ? isAnswered || signal.aborted : answers.some(owes(signal.aborted));
  const used = isOwed ? usedTokens(work) : undefined;
  if (used !== undefined) await context.lease.charge((used.prompt ?? 0) + used.completion);
}

/** Charged if it has tokens, is complete, or had begun when the caller left; not if it failed. */
const owes =
  (hasLeft: boolean) =>
  ({ generatedTokens, startedAt, usage }: Extract<FinishedWork, { type: "answered" }>): boolean =>
    generatedTokens > 0 || usage !== undefined || (hasLeft && startedAt !== undefined);
