/**
 * Rate limits shared by several nodes through Redis; each node counts alone while it is away. A Lua
 * script checks and counts a caller's limits atomically: both token buckets and the places (requests
 * in progress), by the server's clock.
 */
import { randomBytes } from "node:crypto";
import { NodeError } from "../../core/errors.ts";
import {
  type LimitedCaller,
  type RateLimiter,
  type RateLimitStatus,
  rateLimitOf,
  refusalOf,
  type Standing,
  tooManyAnswers,
  waitMsFor,
} from "../../core/limits/rate-limiter.ts";
import type { Decision, Grant, Limiter } from "../../core/ports/limiter.ts";
import { type RedisConnection, unlessAway } from "./connection.ts";

export interface RedisLimiterOptions {
  connection: RedisConnection;
  /** This node's own counts, maintained while Redis is up too, to continue from if it goes away. */
  own: RateLimiter;
  whenAway: "serve" | "refuse";
  /** Called for every request that this node decides alone because Redis is away. */
  onAlone: () => void;
}

/** About the longest pause between two attempts to reconnect. */
const retryAfterMs = 2000;

export class RedisLimiter implements Limiter, Disposable {
  readonly #options: RedisLimiterOptions;
  readonly #places: HeldPlaces;

  constructor(options: RedisLimiterOptions) {
    this.#options = options;
    this.#places = new HeldPlaces(options.connection);
  }

  acquire(caller: LimitedCaller): Decision | Promise<Decision> {
    if (!this.#options.connection.isUp) return this.#decideAlone(caller);
    return isBounded(caller) ? this.#ask(caller) : this.#options.own.acquire(caller);
  }

  [Symbol.dispose](): void {
    this.#places[Symbol.dispose]();
  }

  async #ask(caller: LimitedCaller): Promise<Decision> {
    const { connection, own } = this.#options;
    const places = this.#placesFor(caller);
    const counted = await count(connection, caller, { check: "all", requests: 1, places });
    if (counted === undefined) {
      const decision = this.#decideAlone(caller, places);
      // Redis may have taken the places, and not have answered in time.
      if ("refused" in decision) this.#places.hold(caller, places)[Symbol.dispose]();
      return decision;
    }
    const { isRefused, standing, status } = counted;
    if (isRefused) return { refused: refusalOf(caller, standing) ?? full(), status };
    return this.#grant(caller, own.lease(caller, { isAdmitted: true }), places, status);
  }

  #decideAlone(caller: LimitedCaller, places = this.#placesFor(caller)): Decision {
    const { own, whenAway, onAlone } = this.#options;
    onAlone();
    if (whenAway === "refuse") return { refused: away(), status: {} };
    const decision = own.acquire(caller);
    if ("refused" in decision || !isBounded(caller)) return decision;
    // Its places are counted for all nodes as soon as Redis is back.
    return this.#grant(caller, decision, places, own.status(caller));
  }

  #placesFor({ takesPlace = true }: LimitedCaller): string[] {
    return this.#places.names(takesPlace ? 1 : 0);
  }

  /** `lease`: in this node's own counts. */
  #grant(
    caller: LimitedCaller,
    lease: Disposable,
    places: readonly string[],
    granted: RateLimitStatus,
  ): Grant {
    const { connection, own } = this.#options;
    const held = this.#places;
    let status = granted;
    const leases = new DisposableStack();
    leases.use(lease);
    leases.use(held.hold(caller, places));
    return {
      status: () => status,
      async reserve(answers) {
        const places = held.names(answers - 1);
        const counted = await count(connection, caller, { check: "places", places });
        if (counted?.isRefused === true) {
          const { active } = counted.standing;
          const refused = tooManyAnswers(caller, { answers, active });
          if (refused !== undefined) throw refused;
        }
        const more = new DisposableStack();
        // If Redis is away, this node counts alone.
        more.use(own.leaseFor(answers, caller, { isAdmitted: counted !== undefined }));
        more.use(held.hold(caller, places));
        // If the request ended meanwhile, the places are given back.
        if (leases.disposed) more.dispose();
        else leases.use(more);
      },
      async charge(tokens) {
        if (caller.limits.tokensPerMinute === 0) return;
        own.charge(caller, tokens);
        const counted = await count(connection, caller, { check: "nothing", tokens });
        status = counted?.status ?? own.status(caller);
      },
      [Symbol.dispose]: () => leases.dispose(),
    };
  }
}

const isBounded = ({ limits }: LimitedCaller): boolean =>
  limits.requestsPerMinute > 0 || limits.tokensPerMinute > 0 || limits.concurrency > 0;

/** For a refusal whose limit is free again by now. */
const full = (): NodeError =>
  new NodeError("too_many_requests", "Rate limit reached. Try again in 1 s.", {
    retryAfterMs: 1000,
  });

const away = (): NodeError =>
  new NodeError(
    "unavailable",
    "The nodes' common limits cannot be held now: their Redis server is away, and this node refuses requests meanwhile. Try again in 2 s.",
    { retryAfterMs },
  );

interface Held {
  caller: LimitedCaller;
  places: Set<string>;
}

/** Renewed, so that they count again in a server that came back empty. */
class HeldPlaces implements Disposable {
  readonly #connection: RedisConnection;
  /** Distinguishes this process from others, and from the previous one. */
  readonly #node = randomBytes(6).toString("hex");
  readonly #held = new Map<string, Held>();
  /** Released while the server did not answer; it may still count them. */
  readonly #owed: (readonly string[])[] = [];
  readonly #renewing: ReturnType<typeof setInterval>;
  #made = 0;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#renewing = setInterval(() => this.#renew(), placeMs / 3).unref();
    connection.watch({
      up: () => {
        for (const released of this.#owed.splice(0)) this.#remove(released);
        this.#renew();
      },
    });
  }

  names(many: number): string[] {
    return Array.from({ length: many }, () => `${this.#node}:${(this.#made++).toString(36)}`);
  }

  hold(caller: LimitedCaller, places: readonly string[]): Disposable {
    const release = { [Symbol.dispose]: () => this.#release(caller, places) };
    if (caller.limits.concurrency === 0 || places.length === 0) return release;
    const held = this.#held.get(caller.id) ?? { caller, places: new Set() };
    // A key's limits may have changed since.
    held.caller = caller;
    for (const place of places) held.places.add(place);
    this.#held.set(caller.id, held);
    return release;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#renewing);
  }

  #release(caller: LimitedCaller, places: readonly string[]): void {
    const held = this.#held.get(caller.id);
    if (held === undefined || places.length === 0) return;
    for (const place of places) held.places.delete(place);
    if (held.places.size === 0) this.#held.delete(caller.id);
    this.#remove([placesOf(this.#connection, caller), ...places]);
  }

  #remove(released: readonly string[]): void {
    this.#connection.call("ZREM", ...released).catch(() => {
      // Further ones expire by themselves.
      if (this.#owed.length < mostOwed) this.#owed.push(released);
    });
  }

  #renew(): void {
    if (!this.#connection.isUp) return;
    for (const { caller, places } of this.#held.values()) {
      void count(this.#connection, caller, { check: "nothing", places: [...places] });
    }
  }
}

const mostOwed = 1000;

/** How long a place lasts without being renewed: a node that dies does not hold it for ever. */
const placeMs = 15_000;

const script = `
local buckets, places = KEYS[1], KEYS[2]
local perMinute = { requests = tonumber(ARGV[1]), tokens = tonumber(ARGV[2]) }
local concurrency, placeMs, check = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local taken = { requests = tonumber(ARGV[6]), tokens = tonumber(ARGV[7]) }
local firstPlace = 8
local minuteMs, rounding = 60000, 1e-6

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local held = redis.call('HMGET', buckets, 'requests', 'tokens', 'at')
local at = tonumber(held[3]) or now
-- The clock was set back, or this is another server in its place.
if at > now then redis.call('HSET', buckets, 'at', string.format('%.0f', now)) end
local passed = math.max(0, now - at)
local function refilled(used, limit)
  if limit == 0 then return 0 end
  return math.max(0, (tonumber(used) or 0) - passed * limit / minuteMs)
end
local used = {
  requests = refilled(held[1], perMinute.requests),
  tokens = refilled(held[2], perMinute.tokens),
}

local active = 0
if concurrency > 0 then
  redis.call('ZREMRANGEBYSCORE', places, '-inf', now)
  -- Of a clock that was set back; those of nodes that live are renewed.
  redis.call('ZREMRANGEBYSCORE', places, string.format('(%.0f', now + 2 * placeMs), '+inf')
  active = redis.call('ZCARD', places)
end

local function isEmpty(what)
  return perMinute[what] > 0 and used[what] + 1 - perMinute[what] > rounding
end
local verdict = 'granted'
local wanted = #ARGV - firstPlace + 1
if check ~= 'nothing' and concurrency > 0 and wanted > 0 and active + wanted > concurrency then
  verdict = 'places'
elseif check == 'all' and isEmpty('requests') then
  verdict = 'requests'
elseif check == 'all' and isEmpty('tokens') then
  verdict = 'tokens'
end

if verdict == 'granted' then
  local fullInMs = 0
  for _, what in ipairs({ 'requests', 'tokens' }) do
    if perMinute[what] > 0 then
      used[what] = used[what] + taken[what]
      fullInMs = math.max(fullInMs, used[what] * minuteMs / perMinute[what])
    end
  end
  if fullInMs > 0 then
    redis.call('HSET', buckets,
      'requests', string.format('%.17g', used.requests),
      'tokens', string.format('%.17g', used.tokens),
      'at', string.format('%.0f', now))
    redis.call('PEXPIRE', buckets, string.format('%.0f', math.ceil(fullInMs) + 1000))
  end
  if concurrency > 0 and #ARGV >= firstPlace then
    for at = firstPlace, #ARGV do
      redis.call('ZADD', places, string.format('%.0f', now + placeMs), ARGV[at])
    end
    redis.call('PEXPIRE', places, placeMs)
  end
end
return { verdict, active, string.format('%.17g', used.requests), string.format('%.17g', used.tokens) }
`;

interface Use {
  /** Which limits to enforce: all, the concurrency only, or none. */
  check: "all" | "places" | "nothing";
  requests?: number;
  tokens?: number;
  /** Names of the places to take or renew. */
  places?: readonly string[];
}

interface Counted {
  isRefused: boolean;
  status: RateLimitStatus;
  /** With the places in use before this call, and the wait if a bucket is empty. */
  standing: Standing;
}

const isVerdict = (reply: unknown): boolean =>
  reply === "granted" || reply === "places" || reply === "requests" || reply === "tokens";

const isNumber = (value: number | undefined): value is number =>
  value !== undefined && Number.isFinite(value) && value >= 0;

const placesOf = (connection: RedisConnection, { id }: LimitedCaller): string =>
  connection.name("places", id);

/** Undefined if Redis is away. */
async function count(
  connection: RedisConnection,
  caller: LimitedCaller,
  { check, requests = 0, tokens = 0, places = [] }: Use,
): Promise<Counted | undefined> {
  const { requestsPerMinute, tokensPerMinute, concurrency } = caller.limits;
  const keys = [connection.name("limits", caller.id), placesOf(connection, caller)];
  const limits = [requestsPerMinute, tokensPerMinute, concurrency, placeMs].map(String);
  const args = [...limits, check, String(requests), String(tokens), ...places];
  const reply = await connection.run(script, keys, args).catch(unlessAway);
  if (reply === undefined) return undefined;
  const [verdict, ...numbers] = reply;
  const [active, requestsUsed, tokensUsed] = numbers.map(Number);
  if (
    !isVerdict(verdict) ||
    !isNumber(active) ||
    !isNumber(requestsUsed) ||
    !isNumber(tokensUsed)
  ) {
    connection.distrusted();
    return undefined;
  }
  const used = { requests: requestsUsed, tokens: tokensUsed };
  const waitMs = (limit: number, spent: number): number => Math.max(1, waitMsFor(limit, spent, 1));
  return {
    isRefused: verdict !== "granted",
    status: {
      ...(requestsPerMinute > 0 ? { requests: rateLimitOf(requestsPerMinute, used.requests) } : {}),
      ...(tokensPerMinute > 0 ? { tokens: rateLimitOf(tokensPerMinute, used.tokens) } : {}),
    },
    standing: {
      active,
      requestsWaitMs: verdict === "requests" ? waitMs(requestsPerMinute, used.requests) : 0,
      tokensWaitMs: verdict === "tokens" ? waitMs(tokensPerMinute, used.tokens) : 0,
    },
  };
}
