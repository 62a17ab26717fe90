/** Rate limits: a lease for every request of an operation that costs something, and what the caller has left. */
import {
  type CallerLimits,
  type LimitedCaller,
  noLimits,
  type RateLimiter,
} from "../../core/limits/rate-limiter.ts";
import type { Connections } from "../connections.ts";
import type { RequestContext } from "../request-context.ts";
import type { Caller } from "./authentication.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";

/** What a request was granted; disposed of when its answer has ended, which gives its place back. */
export interface RateLimitLease extends Disposable {
  /** Whose requests count together, as a name that is no secret. */
  readonly caller: string;
  /** Whose evaluated prompts this one may share; absent: those of all who have none. */
  readonly prefixScope: string | undefined;
  /** Takes a place for each of the answers that the request turns out to be for; or refuses it. */
  reserve(answers: number): void;
  charge(tokens: number): void;
}

export interface RateLimitSettings {
  limiter: RateLimiter;
  connections: Connections;
  /** For callers who have none of their own. */
  callerLimits: CallerLimits;
  /** Most requests in progress from one address; 0: no bound. */
  connectionsPerClient: number;
  /** Whether keys share the evaluated beginnings of their prompts. */
  sharePrefixes: boolean;
}

/** A proxy on this machine asks for many. */
const loopback = /^(127\.|0:0:0:0::\/64$)/;

/** Grants the request a lease, or refuses it; writes into the headers what the caller has left. */
export function acquireLease(
  request: Request,
  context: RequestContext,
  settings: RateLimitSettings,
): RateLimitLease {
  const { limiter, connections, sharePrefixes } = settings;
  const known = context.authenticated;
  const caller = limitedCaller(known, request, settings);
  const tell = () => Object.assign(context.headers, rateLimitHeaders(limiter.status(caller)));
  using leases = new DisposableStack();
  try {
    const client = limitedClient(request, settings);
    if (client !== undefined) leases.use(limiter.acquire(client));
    leases.use(limiter.acquire(caller));
  } finally {
    tell();
  }
  leases.defer(() => connections.ended(request));
  // Kept until the model is done with what was asked, also where the client left before.
  const held = leases.move();
  return {
    caller: caller.id,
    prefixScope: known.id !== undefined && !sharePrefixes ? caller.id : undefined,
    reserve: (answers) => {
      // What has ended holds no places any more.
      if (!held.disposed) held.use(limiter.acquireFor(answers, caller));
    },
    charge: (tokens) => {
      limiter.charge(caller, tokens);
      tell();
    },
    [Symbol.dispose]: () => held.dispose(),
  };
}

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
  const client = connections.clientOf(request);
  if (connectionsPerClient === 0 || client === undefined || loopback.test(client)) return undefined;
  return {
    id: `address ${client}`,
    called: "A client's address",
    limits: { ...noLimits, concurrency: connectionsPerClient },
  };
}
