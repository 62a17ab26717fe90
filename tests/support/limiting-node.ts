/** What holds callers to the limits that nodes share, as a node has it, on a real Redis server. */
import {
  type CallerLimits,
  type LimitedCaller,
  noLimits,
  RateLimiter,
} from "../../src/core/limits/rate-limiter.ts";
import type { Decision, Grant } from "../../src/core/ports/limiter.ts";
import { RedisConnection } from "../../src/gateway/redis/connection.ts";
import { RedisLimiter } from "../../src/gateway/redis/limiter.ts";
import type { RedisServer } from "./redis-server.ts";

export interface LimitingNode extends Disposable {
  connection: RedisConnection;
  ask(id?: string, request?: Pick<LimitedCaller, "takesPlace">): Promise<Decision>;
  /** Asks once and lets the place go; whether it was let in. */
  once(id?: string): Promise<boolean>;
  alone(): number;
}

/** Longer than any machine takes, so that only what is meant to be late is. */
export const patient = 20_000;

export async function limitingNode(
  { url }: Pick<RedisServer, "url">,
  limits: Partial<CallerLimits>,
  { timeoutMs = patient, whenAway = "serve" as "serve" | "refuse" } = {},
): Promise<LimitingNode> {
  const resources = new DisposableStack();
  const connection = resources.use(new RedisConnection({ url, prefix: "test", timeoutMs }));
  await connection.open();
  // Its own clock stands: nothing is refilled while a busy machine takes its time.
  const own = new RateLimiter(() => 0);
  let alone = 0;
  const onAlone = () => alone++;
  const limiter = resources.use(new RedisLimiter({ connection, own, whenAway, onAlone }));
  const ask: LimitingNode["ask"] = async (id = "ada", request = {}) =>
    await limiter.acquire({
      ...{ id, called: `The key '${id}'`, limits: { ...noLimits, ...limits } },
      ...request,
    });
  return {
    connection,
    ask,
    once: async (id) => {
      const decision = await ask(id);
      if ("refused" in decision) return false;
      decision[Symbol.dispose]();
      return true;
    },
    alone: () => alone,
    [Symbol.dispose]: () => resources.dispose(),
  };
}

export function granted(decision: Decision): Grant {
  if ("refused" in decision) throw decision.refused;
  return decision;
}

export const refusal = (decision: Decision): unknown =>
  "refused" in decision ? [decision.refused.kind, decision.refused.message] : "granted";
