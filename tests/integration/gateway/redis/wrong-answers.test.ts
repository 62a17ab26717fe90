/** A Redis server that answers, and wrongly: it counts as away, and opens nothing. */
import { describe, expect, test } from "bun:test";
import { RedisConnection } from "../../../../src/gateway/redis/connection.ts";
import { KeyMirror } from "../../../../src/gateway/redis/key-mirror.ts";
import { RedisKeyStore } from "../../../../src/gateway/redis/key-store.ts";
import { newKeyRecord } from "../../../../src/store/keys/key-record.ts";
import { CountedTurns } from "../../../support/counted-turns.ts";
import { limitingNode, patient } from "../../../support/limiting-node.ts";
import { type RedisReply, scriptedRedis } from "../../../support/scripted-redis.ts";
import { silentLog } from "../../../support/silence.ts";

const somethingElse = "it answered something else than was asked";

async function connected(answer: Parameters<typeof scriptedRedis>[0]) {
  const redis = await scriptedRedis(answer);
  const connection = new RedisConnection({ url: redis.url, prefix: "test", timeoutMs: patient });
  await connection.open();
  return {
    connection,
    async [Symbol.asyncDispose]() {
      connection[Symbol.dispose]();
      await redis[Symbol.asyncDispose]();
    },
  };
}

describe("keys in a Redis server that answers wrongly", () => {
  const page = ["1", Array.from({ length: 20_000 }, (_, at) => `${at}`)];
  test.each<[string, string, RedisReply]>([
    ["a text", "HSCAN", "OK"],
    ["nothing", "HSCAN", null],
    ["a list of nothing", "HSCAN", []],
    ["no fields", "HSCAN", ["0", 5]],
    ["half a field", "HSCAN", ["0", ["abc"]]],
    ["fields that are lists", "HSCAN", ["0", [[], []]]],
    ["pages without end", "HSCAN", page],
    ["texts without end", "HSCAN", ["1", ["abc", "x".repeat(20 << 20)]]],
    ["a text instead of a count", "HLEN", "OK"],
    ["a list instead of a count", "HLEN", []],
    ["less than nothing", "HLEN", -1],
    ["a list instead of a version", "GET", []],
  ])("are not known, and nobody gets in: %s", async (_, command, reply) => {
    await using on = await connected((asked) => (asked === command ? reply : undefined));
    const { connection } = on;
    using keys = new KeyMirror({ connection, wantsKeys: false, log: silentLog });
    await keys.read();
    expect([keys.isKnown, keys.hasKeys()]).toEqual([false, true]);
    expect(connection.problem).toBe(somethingElse);
  });

  test.each([
    ["made at no time", { created_at: 1e300 }, undefined, 0],
    ["expires at no time", { expires_at: 1e300 }, undefined, 0],
    ["was revoked at no time", {}, "then", 1],
  ])("are listed where one %s", async (_, said, revoked, listed) => {
    const { record } = newKeyRecord({ name: "ada", scopes: ["chat"] });
    const { revoked_at: __, salt, digest, ...rest } = record;
    const bytes = (part: Uint8Array): string => Buffer.from(part).toString("base64");
    const stored = { ...rest, salt: bytes(salt), digest: bytes(digest), ...said };
    const hash = (name: string): string[] =>
      name.endsWith(":keys")
        ? [record.id, JSON.stringify(stored)]
        : [record.id, revoked ?? ""].slice(revoked === undefined ? 2 : 0);
    await using on = await connected((asked, [name = ""]) =>
      asked === "HSCAN" ? ["0", hash(name)] : undefined,
    );
    const keys = await new RedisKeyStore(on.connection).list();
    expect(keys.map(({ revokedAt }) => revokedAt?.getTime())).toStrictEqual(Array(listed).fill(0));
  });

  test("are read in turns, however many come at once", async () => {
    const many = Array.from({ length: 20_000 }, (_, at) => [`${at}`, "{}"]).flat();
    await using on = await connected((asked, [name = ""]) =>
      asked === "HSCAN" && name.endsWith(":keys") ? ["0", many] : undefined,
    );
    using turns = new CountedTurns();
    expect(await new RedisKeyStore(on.connection).read()).toEqual(new Map());
    expect(turns.now).toBeGreaterThan(90);
  });

  test("are wanted from callers also where none of them can be read", async () => {
    const stored = ["0", ["abcdefabcdef", '{"id":"abcdefabcdef","format":2}']];
    await using on = await connected((asked, [name = ""]) => {
      if (!name.endsWith(":keys")) return undefined;
      return asked === "HLEN" ? 1 : asked === "HSCAN" ? stored : undefined;
    });
    using keys = new KeyMirror({
      connection: on.connection,
      wantsKeys: false,
      log: silentLog,
    });
    await keys.read();
    expect([keys.isKnown, keys.hasKeys(), keys.size]).toEqual([true, true, 0]);
  });
});

test.each<[string, RedisReply]>([
  ["nothing", []],
  ["another verdict", ["maybe", 0, "0", "0"]],
  ["no numbers", ["granted", "x", "nan", "0"]],
  ["numbers without end", ["granted", 0, "1e999", "0"]],
  ["less than nothing", ["granted", -1, "-1e300", "-1e300"]],
])("limits in one that answers %s are held by the node alone", async (_, reply) => {
  await using redis = await scriptedRedis((asked, args) =>
    asked === "EVAL" && !args.some((each) => each.endsWith(":probe")) ? reply : undefined,
  );
  using node = await limitingNode(redis, { requestsPerMinute: 5 });
  expect(await node.once()).toBe(true);
  expect(node.alone()).toBe(1);
  expect(node.connection.problem).toBe(somethingElse);
});
