import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ApiKey } from "../../../../src/core/limits/api-key.ts";
import { SqliteKeys } from "../../../../src/store/keys/sqlite-keys.ts";
import { mirroringNode } from "../../../support/mirroring-node.ts";
import { hasRedis, startRedis } from "../../../support/redis-server.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const scopes = ["chat"] as const;

describe.skipIf(!hasRedis)("keys that nodes share", () => {
  test("are known to all as soon as one was given out, and refused by all once it is revoked", async () => {
    await using redis = await startRedis();
    using one = await mirroringNode(redis);
    using other = await mirroringNode(redis);
    expect([one.keys.hasKeys(), other.keys.hasKeys()]).toEqual([false, false]);
    const limits = { requestsPerMinute: 60, tokensPerMinute: 0 };
    const expiresAt = new Date("2100-01-01");
    const { key, text } = await one.store.create({ name: "ada", scopes, limits, expiresAt });
    await Promise.all([one.until(text, "valid"), other.until(text, "valid")]);
    expect(other.keys.find(text)).toEqual(key);
    expect([one.keys.hasKeys(), other.keys.hasKeys()]).toEqual([true, true]);
    expect(other.worth(`${text}A`)).toBe("unknown");
    const revoked = await other.store.revoke("ada");
    await Promise.all([one.until(text, "revoked"), other.until(text, "revoked")]);
    expect(await one.store.list()).toEqual([revoked as ApiKey]);
    const again = await one.store.revoke(key.id);
    expect(again?.revokedAt).toEqual(revoked?.revokedAt);
    expect(await one.store.revoke("nobody")).toBeUndefined();
  });

  test("hold no text of a key in the server", async () => {
    await using redis = await startRedis();
    using one = await mirroringNode(redis);
    const { text } = await one.store.create({ name: "ada", scopes });
    const [, id = "", ...rest] = text.split("_");
    // A secret may have such a character itself, even as its first.
    const secret = rest.join("_");
    expect(secret).not.toBe("");
    const stored = String(await redis.ask("HGET", "{test}:keys", id));
    expect(stored).toContain('"name":"ada"');
    expect(stored).not.toContain(secret);
    expect(JSON.stringify(await redis.ask("KEYS", "*"))).not.toContain(secret);
  });

  test("are refused by every node where another program revoked them", async () => {
    await using redis = await startRedis();
    using one = await mirroringNode(redis);
    using other = await mirroringNode(redis);
    const { text } = await one.store.create({ name: "ada", scopes });
    await other.until(text, "valid");
    await redis.ask("HSET", "{test}:revoked-keys", text.slice(3, 15), "1");
    await redis.ask("INCR", "{test}:keys-version");
    await Promise.all([one.until(text, "revoked"), other.until(text, "revoked")]);
    expect(other.connection.isUp).toBe(true);
  });

  test("let in also with the longest name and as many vector stores as a node has", async () => {
    await using redis = await startRedis();
    using one = await mirroringNode(redis);
    const vectorStores = Array.from({ length: 1000 }, (_, at) => `vs_${at}${"x".repeat(60)}:read`);
    const wanted = { name: "𝒜".repeat(64), scopes, vectorStores };
    const { key, text } = await one.store.create(wanted);
    expect(await one.store.list()).toEqual([key]);
    await one.until(text, "valid");
  });

  test("have one name each", async () => {
    await using redis = await startRedis();
    using one = await mirroringNode(redis);
    await one.store.create({ name: "ada", scopes });
    await expect(one.store.create({ name: "ada", scopes })).rejects.toThrow(
      "There is a key named 'ada' already.",
    );
    expect(await one.store.list()).toHaveLength(1);
  });

  test("many of them are read in slices, and none is missing", async () => {
    await using redis = await startRedis();
    using one = await mirroringNode(redis);
    const made = await Promise.all(
      Array.from({ length: 1500 }, (_, at) => one.store.create({ name: `key ${at}`, scopes })),
    );
    expect(await one.store.list()).toHaveLength(1500);
    using late = await mirroringNode(redis);
    expect(made.every(({ text }) => late.worth(text) === "valid")).toBe(true);
  });

  test("that somebody else wrote badly open nothing and harm nobody", async () => {
    await using redis = await startRedis();
    using one = await mirroringNode(redis);
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
    using one = await mirroringNode(redis);
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
