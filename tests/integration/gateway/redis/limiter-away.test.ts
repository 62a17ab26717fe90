import { describe, expect, test } from "bun:test";
import { granted, limitingNode, refusal } from "../../../support/limiting-node.ts";
import { hasRedis, startRedis } from "../../../support/redis-server.ts";
import { waitFor } from "../../../support/wait-for.ts";

const places = "{test}:places:ada";

describe.skipIf(!hasRedis)("limits that nodes share, while the server is away", () => {
  test("are each node's own, which goes on from what it had let in", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, { requestsPerMinute: 3 });
    using other = await limitingNode(redis, { requestsPerMinute: 3 });
    expect([await one.once(), await other.once()]).toEqual([true, true]);
    await redis.kill();
    await waitFor("both to notice", () => !one.connection.isUp && !other.connection.isUp);
    const further = [await one.once(), await one.once(), await one.once(), await other.once()];
    expect(further).toEqual([true, true, false, true]);
    expect([one.alone(), other.alone()]).toEqual([3, 1]);
    await redis.start();
    await waitFor("both to be back", () => one.connection.isUp && other.connection.isUp);
    expect([await other.once(), one.alone()]).toEqual([true, 3]);
  });

  test("refuse everybody where that is wanted, with when to ask again", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, {}, { whenAway: "refuse" });
    expect(await one.once()).toBe(true);
    await redis.kill();
    await waitFor("it to notice", () => !one.connection.isUp);
    const decision = await one.ask();
    expect(refusal(decision)).toEqual([
      "unavailable",
      expect.stringContaining("their Redis server is away"),
    ]);
    expect("refused" in decision && decision.refused.retryAfterMs).toBe(2000);
    await redis.start();
    await waitFor("it to be back", () => one.connection.isUp);
    expect(await one.once()).toBe(true);
  });

  test("let in a request that takes no place, where this node's are taken", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, { concurrency: 1 });
    await redis.kill();
    await waitFor("it to notice", () => !one.connection.isUp);
    using _held = granted(await one.ask());
    granted(await one.ask("ada", { takesPlace: false }))[Symbol.dispose]();
    expect(refusal(await one.ask())).not.toBe("granted");
    await redis.start();
    await waitFor("its place", async () => (await redis.ask("ZCARD", places)) === 1);
  });

  test("keep nobody waiting twice for a server that is paused", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, { requestsPerMinute: 1000 }, { timeoutMs: 250 });
    // A busy machine may take longer than that by itself.
    let before = one.alone();
    await waitFor("a decision of the server's", async () => {
      before = one.alone();
      return (await one.once()) && one.alone() === before && one.connection.isUp;
    });
    redis.pause();
    // The first may wait until the time is up; what comes after is decided in this turn of the loop.
    await one.once();
    expect(one.connection.problem).toBe("it did not answer within 250 ms");
    for (let more = 0; more < 20; more++) {
      const later = new Promise((resolve) => setImmediate(resolve, "later"));
      expect(await Promise.race([one.once(), later])).toBe(true);
    }
    expect(one.alone() - before).toBe(21);
    redis.resume();
    await waitFor("it to be back", () => one.connection.isUp);
  });

  test("count again what was in progress when the server comes back empty", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, { concurrency: 2 });
    const before = granted(await one.ask());
    await redis.kill();
    await waitFor("it to notice", () => !one.connection.isUp);
    const meanwhile = granted(await one.ask());
    expect(refusal(await one.ask())).not.toBe("granted");
    await redis.start();
    await waitFor("it to be back", () => one.connection.isUp);
    await waitFor("both places", async () => (await redis.ask("ZCARD", places)) === 2);
    expect(refusal(await one.ask())).not.toBe("granted");
    before[Symbol.dispose]();
    meanwhile[Symbol.dispose]();
    await waitFor("no places", async () => (await redis.ask("ZCARD", places)) === 0);
    expect(await one.once()).toBe(true);
  });

  test("free what ended meanwhile as soon as the server answers again", async () => {
    await using redis = await startRedis();
    using one = await limitingNode(redis, { concurrency: 2 }, { timeoutMs: 1000 });
    const before = granted(await one.ask());
    redis.pause();
    // The server counts its place when it goes on, for a node that does not wait any more.
    granted(await one.ask())[Symbol.dispose]();
    expect(one.connection.isUp).toBe(false);
    before[Symbol.dispose]();
    redis.resume();
    await waitFor("it to be back", () => one.connection.isUp);
    // They no longer expire by themselves.
    await redis.ask("PERSIST", places);
    await waitFor("no places", async () => (await redis.ask("EXISTS", places)) === 0);
  });

  test.each([
    ["is read-only", ["REPLICAOF", "127.0.0.1", "1"], ["REPLICAOF", "NO", "ONE"], "replica"],
    [
      "is out of memory",
      ["CONFIG", "SET", "maxmemory", "1"],
      ["CONFIG", "SET", "maxmemory", "0"],
      "out of memory",
    ],
    [
      "lets it run no scripts any more",
      ["ACL", "SETUSER", "default", "-evalsha", "-eval"],
      ["ACL", "SETUSER", "default", "+evalsha", "+eval"],
      "NOPERM",
    ],
  ] as const)(
    "are its own where the server %s",
    async (_, [spoil, ...how], [mend, ...back], said) => {
      await using redis = await startRedis();
      using one = await limitingNode(redis, { requestsPerMinute: 1000 });
      await redis.ask(spoil, ...how);
      expect([await one.once(), one.connection.isUp]).toEqual([true, false]);
      expect(one.connection.problem).toContain(said);
      await redis.ask(mend, ...back);
      await waitFor("it to be back", async () => {
        await one.once();
        return one.connection.isUp;
      });
    },
  );
});
