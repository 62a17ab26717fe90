import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type ApiKey, stateOf } from "../../../../src/core/limits/api-key.ts";
import { SqliteKeys } from "../../../../src/store/keys/sqlite-keys.ts";
import { RedisConnection } from "../../../../src/store/redis/connection.ts";
import { KeyChanges } from "../../../../src/store/redis/key-changes.ts";
import { KeyMirror } from "../../../../src/store/redis/key-mirror.ts";
import { RedisKeyStore } from "../../../../src/store/redis/redis-key-store.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { hasRedis, type RedisServer, startRedis } from "../../../support/redis-server.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const patient = 20_000;
const scopes = ["chat"] as const;

async function node({ url }: RedisServer, { wantsKeys = false, timeoutMs = patient } = {}) {
  const resources = new DisposableStack();
  const connection = resources.use(new RedisConnection({ url, prefix: "test", timeoutMs }));
  const { log, lines } = recordingLog();
  const keys = resources.use(new KeyMirror({ connection, wantsKeys, log }));
  await connection.open();
  await keys.read();
  const worth = (text: string): string => {
    const key = keys.find(text);
    return key === undefined ? "unknown" : stateOf(key);
  };
  return {
    connection,
    keys,
    lines,
    store: new RedisKeyStore(connection),
    worth,
    until: (text: string, state: string) =>
      waitFor(`the key to be ${state}`, () => worth(text) === state),
    [Symbol.dispose]: () => resources.dispose(),
  };
}

describe.skipIf(!hasRedis)("keys that nodes share", () => {
  test("are known to all as soon as one was given out, and refused by all once it is revoked", async () => {
    await using redis = await startRedis();
    using one = await node(redis);
    using other = await node(redis);
    expect([one.keys.hasKeys(), other.keys.hasKeys()]).toEqual([false, false]);
    const limits = { requestsPerMinute: 60, tokensPerMinute: 0 };
    const expiresAt = new Date("2100-01-01");
    const { key, text } = await one.store.create({ name: "ada", scopes, limits, expiresAt });
    await Promise.all([one.until(text, "valid"), other.until(text, "valid")]);
    expect(other.keys.find(text)).toEqual(key);
    expect([one.keys.hasKeys(), other.keys.hasKeys()]).toEqual([true, true]);
    expect(other.worth(`${text.slice(0, -1)}A`)).toBe("unknown");
    const revoked = await other.store.revoke("ada");
    await Promise.all([one.until(text, "revoked"), other.until(text, "revoked")]);
    expect(await one.store.list()).toEqual([revoked as ApiKey]);
    const again = await one.store.revoke(key.id);
    expect(again?.revokedAt).toEqual(revoked?.revokedAt);
    expect(await one.store.revoke("nobody")).toBeUndefined();
  });

  test("hold no text of a key in the server", async () => {
    await using redis = await startRedis();
    using one = await node(redis);
    const { text } = await one.store.create({ name: "ada", scopes });
    const [id = "", secret = ""] = text.split("_").slice(1);
    const stored = String(await redis.ask("HGET", "{test}:keys", id));
    expect(stored).toContain('"name":"ada"');
    expect(stored).not.toContain(secret);
    expect(JSON.stringify(await redis.ask("KEYS", "*"))).not.toContain(secret);
  });

  test("are found without a message too, which nobody may hear", async () => {
    await using redis = await startRedis();
    using one = await node(redis);
    using other = await node(redis);
    const { text } = await one.store.create({ name: "ada", scopes });
    await other.until(text, "valid");
    // Everybody who is subscribed is thrown out, and the announcement goes nowhere.
    await redis.ask("ACL", "SETUSER", "default", "resetchannels");
    await redis.ask("CLIENT", "KILL", "TYPE", "pubsub");
    await redis.ask("HSET", "{test}:revoked-keys", text.slice(3, 15), "1");
    await redis.ask("INCR", "{test}:keys-version");
    await Promise.all([one.until(text, "revoked"), other.until(text, "revoked")]);
    expect(other.connection.isUp).toBe(true);
  });

  test("are announced as they change", async () => {
    await using redis = await startRedis();
    using one = await node(redis);
    let heard = 0;
    using changes = new KeyChanges(one.connection, one.store.channel, () => heard++);
    await changes.listen();
    await one.store.create({ name: "ada", scopes });
    await waitFor("the first message", () => heard === 1);
    // One whose connection was lost listens again.
    await redis.ask("CLIENT", "KILL", "TYPE", "pubsub");
    await waitFor("a new subscription", async () => {
      await changes.listen();
      const [, listeners] = (await redis.ask("PUBSUB", "NUMSUB", one.store.channel)) as unknown[];
      return Number(listeners) > 1;
    });
    await one.store.revoke("ada");
    await waitFor("the second message", () => heard === 2);
  });

  test("have one name each", async () => {
    await using redis = await startRedis();
    using one = await node(redis);
    await one.store.create({ name: "ada", scopes });
    await expect(one.store.create({ name: "ada", scopes })).rejects.toThrow(
      "There is a key named 'ada' already.",
    );
    expect(await one.store.list()).toHaveLength(1);
  });

  test("many of them are read in slices, and none is missing", async () => {
    await using redis = await startRedis();
    using one = await node(redis);
    const made = await Promise.all(
      Array.from({ length: 1500 }, (_, at) => one.store.create({ name: `key ${at}`, scopes })),
    );
    expect(await one.store.list()).toHaveLength(1500);
    using late = await node(redis);
    expect(made.every(({ text }) => late.worth(text) === "valid")).toBe(true);
  });

  test("that somebody else wrote badly open nothing and harm nobody", async () => {
    await using redis = await startRedis();
    using one = await node(redis);
    const { text } = await one.store.create({ name: "ada", scopes });
    const id = "0123456789ab";
    for (const bad of ["", "{", "null", "{}", '{"id":"0123456789ab","name":5}', "[1]"]) {
      await redis.ask("HSET", "{test}:keys", id, bad);
      await redis.ask("INCR", "{test}:keys-version");
      await one.keys.read();
      expect([one.worth(text), one.worth(`pk_${id}_${"s".repeat(43)}`)]).toEqual([
        "valid",
        "unknown",
      ]);
    }
    expect(await one.store.list()).toHaveLength(1);
  });

  test("come from a node's own file once, revoked ones as revoked", async () => {
    await using redis = await startRedis();
    await using folder = await tempDir();
    using own = new SqliteKeys(join(folder.path, "keys.sqlite"));
    const ada = own.create({ name: "ada", scopes, limits: { concurrency: 2 } });
    const bob = own.create({ name: "bob", scopes });
    own.create({ name: "eve", scopes });
    own.revoke("bob");
    using one = await node(redis);
    await one.store.create({ name: "eve", scopes });
    expect(await one.store.add(own.records())).toEqual({ added: 2, taken: ["eve"] });
    expect(await one.store.add(own.records())).toEqual({ added: 0, taken: ["eve"] });
    await one.keys.read();
    expect(one.keys.find(ada.text)).toEqual(ada.key);
    expect(one.worth(bob.text)).toBe("revoked");
    // A revocation in the file counts later too.
    own.revoke("ada");
    await one.store.add(own.records());
    await one.until(ada.text, "revoked");
  });
});

describe.skipIf(!hasRedis)("keys that nodes share, while the server is away", () => {
  test("are those last known, and put back into a server that lost them", async () => {
    await using redis = await startRedis();
    using one = await node(redis);
    using other = await node(redis);
    const ada = await one.store.create({ name: "ada", scopes });
    const bob = await one.store.create({ name: "bob", scopes });
    await one.store.revoke("bob");
    await Promise.all([one.until(bob.text, "revoked"), other.until(bob.text, "revoked")]);
    await redis.kill();
    await waitFor("both to notice", () => !one.connection.isUp && !other.connection.isUp);
    expect([one.worth(ada.text), one.worth(bob.text)]).toEqual(["valid", "revoked"]);
    await redis.start();
    const held = async () => [
      await redis.ask("HLEN", "{test}:keys"),
      await redis.ask("HLEN", "{test}:revoked-keys"),
    ];
    await waitFor("the keys", async () => String(await held()) === "2,1");
    expect(other.worth(ada.text)).toBe("valid");
    // One that starts now knows them from the server alone.
    using third = await node(redis);
    expect([third.worth(ada.text), third.worth(bob.text)]).toEqual(["valid", "revoked"]);
    expect([...one.lines, ...other.lines]).toContainEqual(
      expect.objectContaining({ message: "Redis had lost keys; this node put them back" }),
    );
  });

  test("stay revoked where the server comes back with an older state", async () => {
    await using redis = await startRedis();
    using one = await node(redis);
    const { key, text } = await one.store.create({ name: "ada", scopes });
    await one.store.revoke("ada");
    await one.until(text, "revoked");
    await redis.ask("HDEL", "{test}:revoked-keys", key.id);
    await waitFor(
      "the revocation",
      async () => (await redis.ask("HEXISTS", "{test}:revoked-keys", key.id)) === 1,
    );
    expect(one.worth(text)).toBe("revoked");
  });

  test("are not known to a node that started meanwhile, which lets nobody in", async () => {
    await using redis = await startRedis();
    using one = await node(redis);
    const { text } = await one.store.create({ name: "ada", scopes });
    redis.pause();
    using late = await node(redis, { timeoutMs: 250 });
    expect([late.keys.isKnown, late.keys.hasKeys()]).toEqual([false, true]);
    expect(() => late.keys.find(text)).toThrow("could not be read since this node started");
    redis.resume();
    await waitFor("the keys", () => late.keys.isKnown);
    await late.until(text, "valid");
  });

  test("are wanted by a node that others reach, also where there is none", async () => {
    await using redis = await startRedis();
    using exposed = await node(redis, { wantsKeys: true });
    expect([exposed.keys.isKnown, exposed.keys.hasKeys()]).toEqual([true, true]);
    expect(exposed.worth("anything")).toBe("unknown");
  });
});
