/** The whole way of a request with limits in a real Redis server. */
import { describe, expect, test } from "bun:test";
import { RateLimiter } from "../../../src/core/limits/rate-limiter.ts";
import { RedisConnection } from "../../../src/gateway/redis/connection.ts";
import { RedisLimiter } from "../../../src/gateway/redis/limiter.ts";
import { hasRedis, type RedisServer, startRedis } from "../../support/redis-server.ts";
import { finish } from "../../support/scripted-engines.ts";
import { type TestAppOptions, testApp } from "../../support/test-app.ts";
import { waitFor } from "../../support/wait-for.ts";

const messages = [{ role: "user", content: "one two three" }];
const chat = { model: "chatty", messages };
const embed = { model: "vectors", input: ["a b", "c"] };

async function sharedApp({ url }: RedisServer, options: TestAppOptions) {
  const resources = new DisposableStack();
  const connection = resources.use(new RedisConnection({ url, prefix: "test", timeoutMs: 20_000 }));
  await connection.open();
  const own = new RateLimiter(() => performance.now());
  const limiter = resources.use(
    new RedisLimiter({ connection, own, whenAway: "serve", onAlone: () => {} }),
  );
  return {
    ...testApp({ ...options, limiter }),
    connection,
    [Symbol.dispose]: () => resources.dispose(),
  };
}

const left = ({ headers }: Response, what: string): number =>
  Number(headers.get(`x-ratelimit-remaining-${what}`));

const places = (redis: RedisServer) => redis.ask("ZCARD", "{test}:places:anyone");

describe.skipIf(!hasRedis)("a request with shared limits", () => {
  test("says in its headers what is left after it, of both apps' use", async () => {
    await using redis = await startRedis();
    const limits = { requestsPerMinute: 10, tokensPerMinute: 60 };
    using one = await sharedApp(redis, { callerLimits: limits });
    using other = await sharedApp(redis, { callerLimits: limits });
    const first = await one.post("/v1/embeddings", embed);
    expect([first.status, left(first, "requests")]).toEqual([200, 9]);
    // Three tokens; a second brings back one.
    expect(left(first, "tokens")).toBeWithin(57, 60);
    other.chat.script({ type: "text", text: "Hi" }, finish);
    const second = await other.post("/v1/chat/completions", chat);
    expect(left(second, "requests")).toBe(8);
    expect(left(second, "tokens")).toBeLessThan(left(first, "tokens"));
  });

  test("holds its place as long as its stream, and each of its answers one", async () => {
    await using redis = await startRedis();
    using app = await sharedApp(redis, { callerLimits: { concurrency: 3 } });
    const go = Promise.withResolvers<void>();
    app.chat.script({ type: "text", text: "Hi" }, () => go.promise, finish);
    const stream = await app.post("/v1/chat/completions", { ...chat, stream: true });
    expect([stream.status, await places(redis)]).toEqual([200, 1]);
    const many = await app.post("/v1/chat/completions", { ...chat, n: 3 });
    expect([many.status, await many.text()]).toEqual([
      429,
      expect.stringContaining("with the 3 of this request there would be 4"),
    ]);
    await waitFor("the refused request's place", async () => (await places(redis)) === 1);
    app.chat.script(finish).script(finish);
    expect((await app.post("/v1/chat/completions", { ...chat, n: 2 })).status).toBe(200);
    go.resolve();
    expect(await stream.text()).toContain("[DONE]");
    await waitFor("no place", async () => (await places(redis)) === 0);
  });

  test("gives its place back where its body is wrong, or its client leaves", async () => {
    await using redis = await startRedis();
    using app = await sharedApp(redis, { callerLimits: { concurrency: 1 } });
    expect((await app.post("/v1/chat/completions", "{")).status).toBe(400);
    await waitFor("no place", async () => (await places(redis)) === 0);
    app.chat.script({ type: "text", text: "a" }, { type: "text", text: "b" }, finish);
    const stream = await app.post("/v1/chat/completions", { ...chat, stream: true });
    const reader = stream.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await waitFor("no place", async () => (await places(redis)) === 0);
  });

  test("beyond them is a 429 with the same words as on one node", async () => {
    await using redis = await startRedis();
    using app = await sharedApp(redis, { callerLimits: { requestsPerMinute: 1 } });
    expect((await app.post("/v1/embeddings", embed)).status).toBe(200);
    const refused = await app.post("/v1/embeddings", embed);
    expect([refused.status, left(refused, "requests")]).toEqual([429, 0]);
    expect(Number(refused.headers.get("retry-after"))).toBeWithin(1, 61);
    expect(await refused.json()).toMatchObject({
      error: {
        type: "requests",
        code: "rate_limit_exceeded",
        message: expect.stringContaining("A caller without a key may make 1 requests a minute."),
      },
    });
  });
});
