import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../../src/core/errors.ts";
import {
  type CallerLimits,
  type Lease,
  noLimits,
  RateLimiter,
  TokenBucket,
} from "../../../../src/core/limits/rate-limiter.ts";

function limiterWith(limits: Partial<CallerLimits>) {
  const clock = { now: 1000 };
  const limiter = new RateLimiter(() => clock.now);
  const caller = (id: string) => ({
    id,
    called: `The key '${id}'`,
    limits: { ...noLimits, ...limits },
  });
  const ask = (id = "ada"): Lease | string => {
    try {
      return limiter.lease(caller(id));
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      return `${error.kind}: ${error.message} (${error.retryAfterMs})`;
    }
  };
  const once = (id?: string): boolean => {
    const lease = ask(id);
    if (typeof lease === "string") return false;
    lease[Symbol.dispose]();
    return true;
  };
  return { clock, limiter, caller, ask, once };
}

describe("requests a minute", () => {
  test("are let in up to the limit, and then as they come back", () => {
    const { clock, ask, once } = limiterWith({ requestsPerMinute: 3 });
    expect([once(), once(), once(), once()]).toEqual([true, true, true, false]);
    clock.now += 5000;
    expect(ask()).toBe(
      "too_many_requests: Rate limit reached. The key 'ada' may make 3 requests a minute. Try again in 15 s. (15000)",
    );
    clock.now += 15_000;
    expect([once(), once()]).toEqual([true, false]);
  });

  test("are not used up by those refused", () => {
    const { clock, once } = limiterWith({ requestsPerMinute: 1 });
    once();
    for (let more = 0; more < 100; more++) once();
    clock.now += 60_000;
    expect(once()).toBe(true);
  });

  test.each([1, 3, 7, 60, 999])(
    "are there again after exactly as long as was said: %i",
    (limit) => {
      const { clock, limiter, caller, once } = limiterWith({ requestsPerMinute: limit });
      while (once());
      for (let round = 0; round < 50; round++) {
        clock.now += Math.ceil(60_000 / limit);
        expect(once()).toBe(true);
      }
      expect(limiter.status(caller("ada")).requests?.remaining).toBe(0);
    },
  );

  test("of one caller are nobody else's", () => {
    const { once } = limiterWith({ requestsPerMinute: 1 });
    expect([once("ada"), once("ada"), once("grace")]).toEqual([true, false, true]);
  });
});

describe("tokens a minute", () => {
  test("are counted after the answer, into debt, which is paid back before the next", () => {
    const { clock, limiter, caller, ask, once } = limiterWith({ tokensPerMinute: 60 });
    expect(once()).toBe(true);
    limiter.charge(caller("ada"), 180);
    expect(ask()).toBe(
      "too_many_tokens: Rate limit reached. The key 'ada' may use 60 tokens a minute, and has used them. Try again in 121 s. (121000)",
    );
    expect(limiter.status(caller("ada"))).toEqual({
      tokens: { limit: 60, remaining: 0, resetMs: 180_000 },
    });
    clock.now += 120_000;
    expect(once()).toBe(false);
    clock.now += 1000;
    expect(once()).toBe(true);
    expect(limiter.status(caller("ada")).tokens).toEqual({
      limit: 60,
      remaining: 1,
      resetMs: 59_000,
    });
  });

  test("without a bound are not counted", () => {
    const { limiter, caller } = limiterWith({});
    limiter.charge(caller("ada"), 1e9);
    expect([limiter.status(caller("ada")), limiter.size]).toEqual([{}, 0]);
  });
});

describe("requests at once", () => {
  test("have a place each, which is given back once however often it is returned", () => {
    const { ask, once } = limiterWith({ concurrency: 2 });
    const first = ask();
    const second = ask();
    expect(ask()).toBe(
      "too_many_requests: Rate limit reached. The key 'ada' may have 2 requests in progress at once, and has 2. Try again when one has ended. (1000)",
    );
    if (typeof first === "string" || typeof second === "string") throw new Error("was refused");
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(typeof ask()).toBe("object");
    expect(once()).toBe(false);
  });

  test("that are refused for another reason take no place", () => {
    const { clock, ask } = limiterWith({ concurrency: 2, requestsPerMinute: 1 });
    ask();
    for (let more = 0; more < 5; more++) expect(ask()).toContain("requests a minute");
    clock.now += 60_000;
    expect(typeof ask()).toBe("object");
  });
});

describe("what is remembered", () => {
  test("is forgotten of callers who have left and have everything back", () => {
    const { clock, limiter, caller, ask, once } = limiterWith({
      requestsPerMinute: 10,
      tokensPerMinute: 10,
    });
    for (let number = 0; number < 1000; number++) once(`caller ${number}`);
    ask("busy");
    limiter.charge(caller("in debt"), 100);
    expect(limiter.size).toBe(1002);
    clock.now += 61_000;
    once("another");
    expect(limiter.size).toBe(3);
  });

  test("is what a full minute gives back, so that no caller gains by being forgotten", () => {
    const { clock, once } = limiterWith({ requestsPerMinute: 2 });
    once();
    once();
    clock.now += 29_000;
    once("another");
    expect(once()).toBe(false);
  });
});

describe("requests that others let in", () => {
  test("count, also beyond the limit, and are not refused", () => {
    const { limiter, caller, ask } = limiterWith({ requestsPerMinute: 2, concurrency: 2 });
    const leases = [1, 2, 3].map(() => limiter.lease(caller("ada"), { isAdmitted: true }));
    leases.push(limiter.leaseFor(3, caller("ada"), { isAdmitted: true }));
    expect(limiter.status(caller("ada")).requests?.remaining).toBe(0);
    expect(ask()).toContain("may have 2 requests in progress at once, and has 5");
    for (const lease of leases) lease[Symbol.dispose]();
    expect(ask()).toContain("may make 2 requests a minute. Try again in 60 s.");
  });
});

test("a request that takes no place is let in where all are taken, and leaves them as they are", () => {
  const { limiter, caller, ask } = limiterWith({ requestsPerMinute: 3, concurrency: 1 });
  const placeless = { ...caller("ada"), takesPlace: false };
  using before = limiter.lease(placeless);
  const held = ask();
  expect(held).not.toBeString();
  using _between = limiter.lease(placeless);
  before[Symbol.dispose]();
  expect(ask()).toContain("may have 1 requests in progress at once, and has 1");
  expect(() => limiter.lease(placeless)).toThrow("may make 3 requests a minute");
});

function bucketOf(limit: number) {
  const clock = { now: 1000 };
  return { clock, bucket: new TokenBucket(limit, () => clock.now) };
}

describe("a token bucket", () => {
  test("is full at first", () => {
    const { bucket } = bucketOf(60);
    expect([bucket.isFull, bucket.waitMs(60), bucket.status()]).toEqual([
      true,
      0,
      { limit: 60, remaining: 60, resetMs: 0 },
    ]);
  });

  test("refills evenly over a minute, and not beyond its limit", () => {
    const { clock, bucket } = bucketOf(60);
    bucket.take(60);
    expect(bucket.status()).toEqual({ limit: 60, remaining: 0, resetMs: 60_000 });
    clock.now += 15_000;
    expect(bucket.status()).toEqual({ limit: 60, remaining: 15, resetMs: 45_000 });
    clock.now += 600_000;
    expect([bucket.isFull, bucket.status()]).toEqual([
      true,
      { limit: 60, remaining: 60, resetMs: 0 },
    ]);
  });

  test("says how long until it holds enough, and holds it then", () => {
    const { clock, bucket } = bucketOf(7);
    bucket.take(7);
    const waitMs = bucket.waitMs(3);
    expect(waitMs).toBeCloseTo((3 / 7) * 60_000, 6);
    clock.now += waitMs;
    expect(bucket.waitMs(3)).toBe(0);
  });

  test("can be overdrawn: nothing remains until the debt is paid back", () => {
    const { clock, bucket } = bucketOf(60);
    bucket.take(180);
    expect(bucket.status()).toEqual({ limit: 60, remaining: 0, resetMs: 180_000 });
    clock.now += 120_000;
    expect([bucket.status().remaining, bucket.waitMs(1)]).toEqual([0, 1000]);
    clock.now += 1000;
    expect([bucket.status().remaining, bucket.waitMs(1)]).toEqual([1, 0]);
  });

  test("shows whole units only, while it refills by fractions", () => {
    const { clock, bucket } = bucketOf(60);
    bucket.take(60);
    clock.now += 1500;
    expect(bucket.status().remaining).toBe(1);
    clock.now += 500;
    expect(bucket.status().remaining).toBe(2);
  });

  test("takes another limit while it is in use; what was used stays used", () => {
    const { clock, bucket } = bucketOf(60);
    bucket.take(50);
    bucket.limit = 120;
    expect(bucket.status()).toEqual({ limit: 120, remaining: 70, resetMs: 25_000 });
    bucket.limit = 30;
    expect(bucket.status()).toEqual({ limit: 30, remaining: 0, resetMs: 100_000 });
    clock.now += 100_000;
    expect(bucket.isFull).toBe(true);
  });
});
