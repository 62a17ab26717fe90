/**
 * What Redis counts for the nodes that share it: a Lua script checks and counts a caller's limits
 * atomically, both token buckets and the places (requests in progress), by the server's clock.
 */
import {
  type LimitedCaller,
  type RateLimitStatus,
  rateLimitOf,
  type Standing,
  waitMsFor,
} from "../../core/limits/rate-limiter.ts";
import { type RedisConnection, unlessAway } from "./connection.ts";

/** How long a place lasts without being renewed: a node that dies does not hold it for ever. */
export const placeMs = 15_000;

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

export const placesOf = (connection: RedisConnection, { id }: LimitedCaller): string =>
  connection.name("places", id);

/** Undefined if Redis is away. */
export async function count(
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
