import { describe, expect, test } from "bun:test";
import { mirroringNode } from "../../../support/mirroring-node.ts";
import { hasRedis, startRedis } from "../../../support/redis-server.ts";
import { waitFor } from "../../../support/wait-for.ts";

const scopes = ["chat"] as const;

describe.skipIf(!hasRedis)("keys that nodes share, while the server is away", () => {
  test("are those last known, and put back into a server that lost them", async () => {
    await using redis = await startRedis();
    using one = await mirroringNode(redis);
    using other = await mirroringNode(redis);
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
    using third = await mirroringNode(redis);
    expect([third.worth(ada.text), third.worth(bob.text)]).toEqual(["valid", "revoked"]);
    expect([...one.lines, ...other.lines]).toContainEqual(
      expect.objectContaining({ message: "Redis had lost keys; this node put them back" }),
    );
  });

  test("stay revoked where the server comes back with an older state", async () => {
    await using redis = await startRedis();
    using one = await mirroringNode(redis);
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
    using one = await mirroringNode(redis);
    const { text } = await one.store.create({ name: "ada", scopes });
    redis.pause();
    using late = await mirroringNode(redis, { timeoutMs: 250 });
    expect([late.keys.isKnown, late.keys.hasKeys()]).toEqual([false, true]);
    expect(() => late.keys.find(text)).toThrow("could not be read since this node started");
    redis.resume();
    await waitFor("the keys", () => late.keys.isKnown);
    await late.until(text, "valid");
  });

  test("are wanted by a node that others reach, also where there is none", async () => {
    await using redis = await startRedis();
    using exposed = await mirroringNode(redis, { wantsKeys: true });
    expect([exposed.keys.isKnown, exposed.keys.hasKeys()]).toEqual([true, true]);
    expect(exposed.worth("anything")).toBe("unknown");
  });
});
