import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { NodeError } from "../../../../src/core/errors.ts";
import { RateLimiter } from "../../../../src/core/limits/rate-limiter.ts";
import { RedisConnection } from "../../../../src/gateway/redis/connection.ts";
import { KeyMirror } from "../../../../src/gateway/redis/key-mirror.ts";
import { RedisKeyStore } from "../../../../src/gateway/redis/key-store.ts";
import { RedisLimiter } from "../../../../src/gateway/redis/limiter.ts";
import { freePort } from "../../../support/free-port.ts";
import { granted, patient } from "../../../support/limiting-node.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { hasRedis, startRedis } from "../../../support/redis-server.ts";

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

  test("that answers something else than was asked is closed, and its answer counts for nothing", async () => {
    await using redis = await startRedis();
    const { url } = redis;
    using connection = new RedisConnection({ url, prefix: "test", timeoutMs: patient });
    await connection.open();
    expect(await connection.run("return {1}", [], [])).toEqual([1]);
    const failure = connection.run("return 'OK'", [], []);
    await expect(failure).rejects.toThrow("it answered something else than was asked");
    expect(connection.isUp).toBe(false);
  });

  test("needs of a user no more rights than the handbook's page says", async () => {
    await using redis = await startRedis();
    const page = await Bun.file(join(import.meta.dir, "../../../../docs/scaling.md")).text();
    const section = page.split("### How do I keep Redis safe?")[1] ?? "";
    const rights = [...section.matchAll(/`([+~&][^`]*)`/g)].flatMap(([, some = ""]) =>
      some.split(" "),
    );
    expect(rights.length).toBeGreaterThan(15);
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
    await connection.facts();
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
    const open = async (port: number, timeoutMs = patient) => {
      const url = `redis://127.0.0.1:${port}`;
      using connection = new RedisConnection({ url, prefix: "test", timeoutMs });
      await connection.open();
      return connection.problem;
    };
    const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    expect(await open(silent.port, 100)).toMatch(/does not speak|did not answer/);
    silent.stop(true);
    expect(await open(await freePort())).toBe("there is no connection to it");
    const web = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("hello") });
    expect(await open(web.port ?? 0)).toMatch(/is not Redis|no connection/);
    await web.stop(true);
  });
});
