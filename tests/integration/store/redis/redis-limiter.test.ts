import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { NodeError } from "../../../../src/core/errors.ts";
import {
  type CallerLimits,
  noLimits,
  RateLimiter,
} from "../../../../src/core/limits/rate-limiter.ts";
import type { Decision, Grant } from "../../../../src/core/ports/limiter.ts";
import { RedisConnection } from "../../../../src/store/redis/connection.ts";
import { KeyChanges } from "../../../../src/store/redis/key-changes.ts";
import { KeyMirror } from "../../../../src/store/redis/key-mirror.ts";
import { RedisKeyStore } from "../../../../src/store/redis/redis-key-store.ts";
import { RedisLimiter } from "../../../../src/store/redis/redis-limiter.ts";
import { readServerFacts } from "../../../../src/store/redis/server-facts.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { hasRedis, type RedisServer, startRedis } from "../../../support/redis-server.ts";
import { waitFor } from "../../../support/wait-for.ts";

interface Node extends Disposable {
  connection: RedisConnection;
  ask(id?: string): Promise<Decision>;
  /** Asks once and lets the place go; whether it was let in. */
  once(id?: string): Promise<boolean>;
  alone(): number;
}

/** Longer than any machine takes, so that only what is meant to be late is. */
const patient = 20_000;

async function node(
  { url }: RedisServer,
  limits: Partial<CallerLimits>,
  { timeoutMs = patient, whenAway = "serve" as "serve" | "refuse" } = {},
): Promise<Node> {
  const resources = new DisposableStack();
  const connection = resources.use(new RedisConnection({ url, prefix: "test", timeoutMs }));
  await connection.open();
  const own = new RateLimiter(() => performance.now());
  let alone = 0;
  const onAlone = () => alone++;
  const limiter = resources.use(new RedisLimiter({ connection, own, whenAway, onAlone }));
  const ask = async (id = "ada") =>
    await limiter.acquire({ id, called: `The key '${id}'`, limits: { ...noLimits, ...limits } });
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

function granted(decision: Decision): Grant {
  if ("refused" in decision) throw decision.refused;
  return decision;
}

const refusal = (decision: Decision): unknown =>
  "refused" in decision ? [decision.refused.kind, decision.refused.message] : "granted";

describe.skipIf(!hasRedis)("limits that nodes share", () => {
  test("let in as many requests of a minute as one node would, from all together", async () => {
    await using redis = await startRedis();
    using one = await node(redis, { requestsPerMinute: 60 });
    using other = await node(redis, { requestsPerMinute: 60 });
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
    using one = await node(redis, { requestsPerMinute: 2, tokensPerMinute: 100 });
    using other = await node(redis, { requestsPerMinute: 2, tokensPerMinute: 100 });
    const first = granted(await one.ask());
    expect(first.status()).toMatchObject({
      requests: { limit: 2, remaining: 1 },
      tokens: { limit: 100, remaining: 100 },
    });
    await first.charge(40);
    expect(first.status().tokens?.remaining).toBeWithin(60, 80);
    const second = granted(await other.ask());
    expect(second.status().tokens?.remaining).toBeWithin(60, 80);
    expect(second.status().requests?.remaining).toBe(0);
    const third = await one.ask();
    expect(refusal(third)).toEqual([
      "too_many_requests",
      expect.stringMatching(
        /^Rate limit reached. The key 'ada' may make 2 requests a minute. Ask again in \d+ s.$/,
      ),
    ]);
    expect("refused" in third && third.refused.retryAfterMs).toBeWithin(1, 30_001);
  });

  test("refuse by tokens that another node charged, also beyond the limit", async () => {
    await using redis = await startRedis();
    using one = await node(redis, { tokensPerMinute: 100 });
    using other = await node(redis, { tokensPerMinute: 100 });
    await granted(await one.ask()).charge(1000);
    expect(refusal(await other.ask())).toEqual([
      "too_many_tokens",
      expect.stringContaining("may use 100 tokens a minute, and has used them"),
    ]);
  });

  test("count requests in progress together, and each of several answers", async () => {
    await using redis = await startRedis();
    using one = await node(redis, { concurrency: 3 });
    using other = await node(redis, { concurrency: 3 });
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

  test("free the places of a node that died, and keep those of one that lives", async () => {
    await using redis = await startRedis();
    using living = await node(redis, { concurrency: 2 });
    const dying = await node(redis, { concurrency: 2 });
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

  test("leave nothing in the server once a caller's buckets are full again", async () => {
    await using redis = await startRedis();
    using one = await node(redis, { requestsPerMinute: 600, tokensPerMinute: 100, concurrency: 1 });
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
    using one = await node(redis, { requestsPerMinute: 600 });
    expect(await one.once()).toBe(true);
    await redis.ask("SCRIPT", "FLUSH");
    expect([await one.once(), one.alone()]).toEqual([true, 0]);
  });
});

describe.skipIf(!hasRedis)("limits that nodes share, while the server is away", () => {
  test("are each node's own, which goes on from what it had let in", async () => {
    await using redis = await startRedis();
    using one = await node(redis, { requestsPerMinute: 3 });
    using other = await node(redis, { requestsPerMinute: 3 });
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
    using one = await node(redis, {}, { whenAway: "refuse" });
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

  test("keep nobody waiting twice for a server that is paused", async () => {
    await using redis = await startRedis();
    using one = await node(redis, { requestsPerMinute: 1000 }, { timeoutMs: 250 });
    expect(await one.once()).toBe(true);
    redis.pause();
    // The first may wait until the time is up; what comes after is decided at once, without a promise.
    await one.once();
    expect(one.connection.problem).toBe("it did not answer within 250 ms");
    for (let more = 0; more < 20; more++) expect(await one.once()).toBe(true);
    expect(one.alone()).toBe(21);
    redis.resume();
    await waitFor("it to be back", () => one.connection.isUp);
  });

  test("count again what was in progress when the server comes back empty", async () => {
    await using redis = await startRedis();
    using one = await node(redis, { concurrency: 2 });
    const before = granted(await one.ask());
    await redis.kill();
    await waitFor("it to notice", () => !one.connection.isUp);
    const meanwhile = granted(await one.ask());
    expect(refusal(await one.ask())).not.toBe("granted");
    await redis.start();
    await waitFor("it to be back", () => one.connection.isUp);
    await waitFor("both places", async () => (await redis.ask("ZCARD", "{test}:places:ada")) === 2);
    expect(refusal(await one.ask())).not.toBe("granted");
    before[Symbol.dispose]();
    meanwhile[Symbol.dispose]();
    await waitFor("no places", async () => (await redis.ask("ZCARD", "{test}:places:ada")) === 0);
    expect(await one.once()).toBe(true);
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
      using one = await node(redis, { requestsPerMinute: 1000 });
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

describe.skipIf(!hasRedis)("a connection to Redis", () => {
  test.each([
    ["a wrong password", ":wrong@", "refuses the credentials"],
    ["no password", "", "refuses the credentials"],
  ])("with %s says so, and not which", async (_, credentials, said) => {
    await using redis = await startRedis({ password: "right" });
    const url = `redis://${credentials}127.0.0.1:${redis.port}`;
    using connection = new RedisConnection({ url, prefix: "test", timeoutMs: patient });
    await connection.open();
    expect(connection.problem).toContain(said);
    expect(connection.problem).not.toContain("wrong");
    const failure = await connection.call("PING").catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(NodeError);
    expect(String(failure)).not.toContain("wrong");
  });

  test("needs of a user no more rights than the handbook's page says", async () => {
    await using redis = await startRedis();
    const page = await Bun.file(join(import.meta.dir, "../../../../docs/scaling.md")).text();
    const section = page.split("### How do I keep Redis safe?")[1] ?? "";
    const rights = [...section.matchAll(/`([+~&][^`]*)`/g)].flatMap(([, some = ""]) =>
      some.split(" "),
    );
    expect(rights.length).toBeGreaterThan(20);
    await redis.ask("ACL", "SETUSER", "node", "on", ">secret", "-@all", ...rights);
    const url = `redis://node:secret@127.0.0.1:${redis.port}`;
    using connection = new RedisConnection({ url, prefix: "paddock", timeoutMs: patient });
    await connection.open();
    const { log } = recordingLog();
    using keys = new KeyMirror({ connection, wantsKeys: false, log });
    const store = new RedisKeyStore(connection);
    const { text } = await store.create({ name: "ada", scopes: ["chat"] });
    await store.revoke("ada");
    await keys.read();
    expect(keys.find(text)?.revokedAt).toBeDefined();
    using changes = new KeyChanges(connection, store.channel, () => {});
    await changes.listen();
    expect(await redis.ask("PUBSUB", "NUMSUB", store.channel)).not.toContain(0);
    await readServerFacts(connection);
    const own = new RateLimiter(() => performance.now());
    const options = { connection, own, whenAway: "serve", onAlone: () => {} } as const;
    using limiter = new RedisLimiter(options);
    const limits = { requestsPerMinute: 100, tokensPerMinute: 100, concurrency: 3 };
    const grant = granted(await limiter.acquire({ id: "ada", called: "The key 'ada'", limits }));
    await grant.reserve(2);
    await grant.charge(3);
    grant[Symbol.dispose]();
    await connection.call("PING");
    expect(connection.problem).toBeUndefined();
  });

  test("takes a password apart from the address, whatever is in it", async () => {
    const password = "p%41ss wörd/@:#?";
    await using redis = await startRedis();
    await redis.ask("CONFIG", "SET", "requirepass", password);
    const { url } = redis;
    using connection = new RedisConnection({ url, password, prefix: "test", timeoutMs: patient });
    await connection.open();
    expect(connection.problem).toBeUndefined();
    expect(connection.address).toBe(`127.0.0.1:${redis.port}`);
  });

  test("to a port where nobody listens, or something else does, says so", async () => {
    const open = async (port: number) => {
      const url = `redis://127.0.0.1:${port}`;
      using connection = new RedisConnection({ url, prefix: "test", timeoutMs: 250 });
      await connection.open();
      return connection.problem;
    };
    const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    expect(await open(silent.port)).toMatch(/does not speak|did not answer/);
    silent.stop(true);
    expect(await open(silent.port)).toBe("there is no connection to it");
    const web = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("hello") });
    expect(await open(web.port ?? 0)).toMatch(/is no Redis|no connection/);
    await web.stop(true);
  });
});
