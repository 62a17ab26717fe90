import { describe, expect, test } from "bun:test";
import { NodeError } from "../../src/core/errors.ts";
import type { LogFields } from "../../src/core/log.ts";
import { passage } from "../support/passages.ts";
import { finish } from "../support/scripted-engines.ts";
import { frames, readFrames } from "../support/sse.ts";
import { type TestApp, testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const path = "/v1/chat/completions";
const body = { model: "chatty", messages: [{ role: "user", content: "q" }] };
const streamed = { ...body, stream: true };
const text = (value: string) => ({ type: "text", text: value }) as const;
const ms = expect.any(Number);

const written = ({ log }: TestApp): LogFields[] =>
  log.filter(({ message }) => message === "request").map(({ fields }) => fields);

/** The one line about the one request. */
async function line(app: TestApp): Promise<LogFields | undefined> {
  await waitFor("the request's line", () => written(app).length > 0);
  expect(written(app)).toHaveLength(1);
  return written(app)[0];
}

const chatLine = {
  id: "mine",
  key: "anyone",
  operation: "chat",
  method: "POST",
  path,
  model: "chatty",
  status: 200,
  outcome: "ok",
  prompt_tokens: 3,
  cached_tokens: 1,
  completion_tokens: 2,
  queue_ms: ms,
  first_token_ms: ms,
  total_ms: ms,
};
const mine = { "x-request-id": "mine" };

describe("the log line of a request", () => {
  test("says who asked what of which model, and what it took", async () => {
    const app = testApp({ keys: ["a-good-key"] });
    app.chat.script(text("a secret answer"), finish);
    const asked = { ...body, messages: [{ role: "user", content: "a secret question" }] };
    await app.post(path, asked, { ...mine, authorization: "Bearer a-good-key" });
    expect(await line(app)).toEqual({ ...chatLine, key: "key 1" });
    expect(JSON.stringify(app.log)).not.toMatch(/secret|a-good-key/);
  });

  test("counts each of several prompts once, however many answers it has", async () => {
    const app = testApp();
    for (let answer = 0; answer < 6; answer++) app.chat.script(text("a"), finish);
    const asked = { model: "chatty", prompt: ["a", "b", "c"], n: 2 };
    await app.post("/v1/completions", asked, mine);
    expect(await line(app)).toEqual({
      ...chatLine,
      operation: "completions",
      path: "/v1/completions",
      prompt_tokens: 9,
      cached_tokens: 3,
      completion_tokens: 12,
    });
  });

  test("is written for a request that is turned away at the door, or asks for leave", async () => {
    const refused = testApp({ allowedHosts: [] });
    await refused.handle(new Request("http://evil.example/v1/models", { headers: mine }));
    expect(await line(refused)).toMatchObject({ id: "mine", status: 403, outcome: "error" });
    const asking = testApp({ corsOrigins: ["https://app.example"] });
    const headers = {
      ...mine,
      origin: "https://app.example",
      "access-control-request-method": "POST",
    };
    await asking.handle(new Request(`http://localhost${path}`, { method: "OPTIONS", headers }));
    expect(await line(asking)).toMatchObject({ id: "mine", status: 204, outcome: "ok" });
    const limited = testApp({ callerLimits: { requestsPerMinute: 1 } });
    limited.chat.script(text("a"), finish);
    for (let asked = 0; asked < 2; asked++) await limited.post(path, body);
    await waitFor("both lines", () => written(limited).length === 2);
    expect(written(limited).map(({ status }) => status)).toEqual([200, 429]);
  });

  test("is written when a stream has ended, not when it begins", async () => {
    const app = testApp();
    const held = Promise.withResolvers<void>();
    app.chat.script(text("a"), () => held.promise, text("b"), finish);
    const stream = frames(await app.post(path, streamed, mine));
    await stream.next();
    await stream.next();
    // Another request's end shows that an early line would have been written by now.
    await app.get("/health");
    await waitFor("another line", () => written(app).length > 0);
    expect(written(app).map(({ operation }) => operation)).toEqual(["health"]);
    held.resolve();
    for await (const _ of stream);
    await waitFor("the stream's line", () => written(app).length === 2);
    expect(written(app)[1]).toEqual(chatLine);
  });

  test("says that a stream broke off", async () => {
    const app = testApp();
    app.chat.script(text("a"), text("b"), new Error("inside"));
    await readFrames(await app.post(path, streamed, mine));
    const { cached_tokens: _, ...known } = chatLine;
    expect(await line(app)).toEqual({ ...known, prompt_tokens: 1, outcome: "error" });
  });

  test("says that the client left", async () => {
    const app = testApp();
    const endless = Array.from({ length: 1000 }, () => text("more "));
    app.chat.script(...endless, finish);
    const response = await app.post(path, streamed, mine);
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    const { cached_tokens: _, ...known } = chatLine;
    expect(await line(app)).toEqual({
      ...known,
      outcome: "client left",
      prompt_tokens: 1,
      completion_tokens: expect.any(Number),
    });
  });

  test("says that the client did not read its stream, and so do the numbers", async () => {
    const app = testApp({ stallTimeoutMs: 5 });
    app.chat.script(text("a"), text("b"), finish);
    await app.post(path, streamed);
    expect(await line(app)).toMatchObject({ status: 200, outcome: "client stalled" });
    expect(app.chat.ended).toBe(1);
    expect(await (await app.get("/metrics")).text()).toContain(
      'paddock_requests_total{operation="chat",status="408"} 1',
    );
  });

  test("says that the client left before a plain answer was there", async () => {
    const app = testApp();
    const gone = new AbortController();
    app.chat.script(text("a"), async () => gone.abort(), finish);
    const headers = { "content-type": "application/json", ...mine };
    const { signal } = gone;
    await app.handle(
      new Request(`http://localhost${path}`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        signal,
      }),
    );
    expect(await line(app)).toMatchObject({ status: 499, outcome: "client left" });
  });

  test("has the status of a failure before the first token", async () => {
    const app = testApp();
    app.chat.script(new NodeError("context_length_exceeded", "Too long.", { param: "messages" }));
    await app.post(path, streamed, mine);
    expect(await line(app)).toEqual({
      id: "mine",
      key: "anyone",
      operation: "chat",
      method: "POST",
      path,
      model: "chatty",
      status: 400,
      outcome: "error",
      prompt_tokens: 1,
      completion_tokens: 0,
      queue_ms: ms,
      total_ms: ms,
    });
  });

  test("counts all the answers to one prompt", async () => {
    const app = testApp();
    app.chat.script(text("a"), finish).script(text("b"), finish);
    await app.post(path, { ...body, n: 2 }, mine);
    expect(await line(app)).toEqual({ ...chatLine, completion_tokens: 4 });
  });

  test("has the time of a chat's retrieval", async () => {
    const app = testApp();
    await app.repository.upsert([passage(1, [1, 1])]);
    app.chat.script(text("a"), finish);
    await app.post(path, { ...body, rag: true }, mine);
    expect(await line(app)).toEqual({ ...chatLine, retrieval_ms: ms });
  });

  test("has the tokens of embeddings", async () => {
    const app = testApp();
    await app.post("/v1/embeddings", { model: "vectors", input: ["one two", "three"] }, mine);
    expect(await line(app)).toEqual({
      id: "mine",
      key: "anyone",
      operation: "embeddings",
      method: "POST",
      path: "/v1/embeddings",
      model: "vectors",
      status: 200,
      outcome: "ok",
      prompt_tokens: 3,
      completion_tokens: 0,
      queue_ms: ms,
      total_ms: ms,
    });
  });

  test("has the time of a search", async () => {
    const app = testApp();
    await app.post("/v1/retrieve", { ...body, model: "vectors" }, mine);
    expect(await line(app)).toMatchObject({ operation: "retrieve", retrieval_ms: ms });
  });

  test.each([
    ["/v1/models", "models", 200, { key: "anyone" }],
    ["/v1/models/chatty", "models", 200, { key: "anyone" }],
    ["/v1/info", "info", 200, { key: "anyone" }],
    ["/docs", "docs", 200, {}],
    ["/ready", "ready", 200, { key: "anyone" }],
    ["/nowhere", "other", 404, {}],
  ])("is there for %s too", async (address, operation, status, caller) => {
    const app = testApp();
    await app.handle(new Request(`http://localhost${address}`, { headers: mine }));
    expect(await line(app)).toEqual({
      id: "mine",
      ...caller,
      operation,
      method: "GET",
      path: address,
      status,
      outcome: status === 200 ? "ok" : "error",
      total_ms: ms,
    });
  });

  test("is there for a request that comes too late", async () => {
    const app = testApp({ draining: true });
    await app.post(path, body, mine);
    expect(await line(app)).toMatchObject({ id: "mine", status: 503, outcome: "error" });
  });

  test("has the status of an answer that is no error, and not 200", async () => {
    const app = testApp({ unprepared: true });
    expect((await app.get("/ready")).status).toBe(503);
    expect(await line(app)).toMatchObject({ operation: "ready", status: 503, outcome: "error" });
  });

  test("cuts a name that is none", async () => {
    const app = testApp();
    await app.post(path, { ...body, model: "m".repeat(5000) }, mine);
    expect(await line(app)).toMatchObject({ model: "m".repeat(128), status: 500 });
  });
});
