import { describe, expect, test } from "bun:test";
import { granted, limitingNode, refusal } from "../../../support/limiting-node.ts";
import { hasRedis, startRedis } from "../../../support/redis-server.ts";
import { waitFor } from "../../../support/wait-for.ts";

describe.skipIf(!hasRedis)("limits that nodes share", () => {
  test("let in as many requests of a minute as one node would, from all together", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, { requestsPerMinute: 60 });
    using other = await limitingNode(redis, { requestsPerMinute: 60 });
    const began = performance.now();
    const both = Array.from({ length: 100 }, () => [one.once(), other.once()]).flat();
    const letIn = (await Promise.all(both)).filter((isIn) => isIn).length;
    const refilled = Math.ceil((performance.now() - began) / 1000);
    expect(letIn).toBeGreaterThanOrEqual(60);
    expect(letIn).toBeLessThanOrEqual(60 + refilled);
    expect(await one.once("bob")).toBe(true);
  });

  test("say what is left, whoever used it, and when there is more", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, { requestsPerMinute: 2, tokensPerMinute: 100 });
    using other = await limitingNode(redis, { requestsPerMinute: 2, tokensPerMinute: 100 });
    const first = granted(await one.ask());
    expect(first.status()).toMatchObject({
      requests: { limit: 2, remaining: 1 },
      tokens: { limit: 100, remaining: 100 },
    });
    const began = performance.now();
    await first.charge(40);
    // And what was refilled meanwhile, 100 in a minute.
    const most = () => 60 + Math.ceil((performance.now() - began) / 600);
    expect(first.status().tokens?.remaining).toBeWithin(60, most() + 1);
    const second = granted(await other.ask());
    expect(second.status().tokens?.remaining).toBeWithin(60, most() + 1);
    expect(second.status().requests?.remaining).toBe(0);
    const third = await one.ask();
    expect(refusal(third)).toEqual([
      "too_many_requests",
      expect.stringMatching(
        /^Rate limit reached. The key 'ada' may make 2 requests a minute. Try again in \d+ s.$/,
      ),
    ]);
    expect("refused" in third && third.refused.retryAfterMs).toBeWithin(1, 30_001);
  });

  test("refuse by tokens that another node charged, also beyond the limit", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, { tokensPerMinute: 100 });
    using other = await limitingNode(redis, { tokensPerMinute: 100 });
    await granted(await one.ask()).charge(1000);
    expect(refusal(await other.ask())).toEqual([
      "too_many_tokens",
      expect.stringContaining("may use 100 tokens a minute, and has used them"),
    ]);
  });

  test("count requests in progress together, and each of several answers", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, { concurrency: 3 });
    using other = await limitingNode(redis, { concurrency: 3 });
    const first = granted(await one.ask());
    await first.reserve(2);
    const third = granted(await other.ask());
    expect(refusal(await other.ask())).toEqual([
      "too_many_requests",
      expect.stringContaining("may have 3 requests in progress at once, and has 3"),
    ]);
    const refused = async (answers: number): Promise<unknown> => {
      try {
        return await third.reserve(answers);
      } catch (error) {
        return error;
      }
    };
    expect(await refused(2)).toMatchObject({
      message: expect.stringContaining("with the 2 of this request there would be 4"),
    });
    expect(await refused(4)).toMatchObject({ kind: "invalid_request", param: "n" });
    first[Symbol.dispose]();
    third[Symbol.dispose]();
    third[Symbol.dispose]();
    await waitFor("the places", async () => (await redis.ask("ZCARD", places)) === 0);
    expect(await other.once()).toBe(true);
  });

  const places = "{test}:places:ada";

  test("let a request in that takes no place, and count it as a request", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, { concurrency: 1, requestsPerMinute: 3 });
    using other = await limitingNode(redis, { concurrency: 1, requestsPerMinute: 3 });
    const held = granted(await one.ask());
    const placeless = granted(await other.ask("ada", { takesPlace: false }));
    expect(placeless.status().requests?.remaining).toBe(1);
    expect(await redis.ask("ZCARD", places)).toBe(1);
    placeless[Symbol.dispose]();
    granted(await one.ask("ada", { takesPlace: false }))[Symbol.dispose]();
    expect(await redis.ask("ZCARD", places)).toBe(1);
    expect(refusal(await other.ask("ada", { takesPlace: false }))).toEqual([
      "too_many_requests",
      expect.stringContaining("may make 3 requests a minute"),
    ]);
    held[Symbol.dispose]();
  });

  test("let it in also where more places are taken than there are by now", async () => {
    await using redis = await startRedis();
    using before = await limitingNode(redis, { concurrency: 2 });
    using after = await limitingNode(redis, { concurrency: 1 });
    using _first = granted(await before.ask());
    using _second = granted(await before.ask());
    expect(refusal(await after.ask("ada", { takesPlace: false }))).toBe("granted");
    expect(refusal(await after.ask())).not.toBe("granted");
  });

  test("free the places of a node that died, and keep those of one that lives", async () => {
    await using redis = await startRedis();
    using living = await limitingNode(redis, { concurrency: 2 });
    const dying = await limitingNode(redis, { concurrency: 2 });
    granted(await living.ask());
    granted(await dying.ask());
    const members = await redis.ask("ZRANGE", places, "0", "-1");
    expect(members).toHaveLength(2);
    dying[Symbol.dispose]();
    // As if the time that a place lasts had passed for both.
    for (const member of members as string[]) await redis.ask("ZADD", places, "1", member);
    await waitFor("the living node's renewal", async () => {
      const left = await redis.ask("ZCOUNT", places, "2", "+inf");
      return left === 1;
    });
    expect(await living.once()).toBe(true);
  });

  test("hold nobody up for as long as the server's clock was set back", async () => {
    await using redis = await startRedis();
    using node = await limitingNode(redis, { requestsPerMinute: 60_000, concurrency: 1 });
    const hours = 3_600_000;
    await redis.ask(
      "HSET",
      "{test}:limits:ada",
      "requests",
      "60000",
      "at",
      `${Date.now() + hours}`,
    );
    await redis.ask("ZADD", places, `${Date.now() + hours}`, "of-a-node-that-died:0");
    // What is used up is refilled from now on, a request in a millisecond.
    await waitFor("a request to be let in", () => node.once());
  });

  test("leave nothing in the server once a caller's buckets are full again", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, {
      requestsPerMinute: 600,
      tokensPerMinute: 100,
      concurrency: 1,
    });
    granted(await one.ask())[Symbol.dispose]();
    const left = Number(await redis.ask("PTTL", "{test}:limits:ada"));
    expect(left).toBeLessThan(2000);
    await waitFor("an empty server", async () => {
      const keys = await redis.ask("KEYS", "*");
      return JSON.stringify(keys) === "[]";
    });
  });

  test("go on when the server forgets its scripts", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, { requestsPerMinute: 600 });
    expect(await one.once()).toBe(true);
    await redis.ask("SCRIPT", "FLUSH");
    expect([await one.once(), one.alone()]).toEqual([true, 0]);
  });
});
