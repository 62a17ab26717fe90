import { describe, expect, test } from "bun:test";
import { NodeError } from "../../src/core/errors.ts";
import { passage } from "../support/passages.ts";
import { type Families, parsePrometheus, sampleValue } from "../support/prometheus-text.ts";
import { finish } from "../support/scripted-engines.ts";
import { frames, readFrames } from "../support/sse.ts";
import { type TestApp, testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const path = "/v1/chat/completions";
const body = { model: "chatty", messages: [{ role: "user", content: "q" }] };
const streamed = { ...body, stream: true };
const text = (value: string) => ({ type: "text", text: value }) as const;
const chatty = { model: "chatty" };

async function numbers(app: TestApp): Promise<Families> {
  const response = await app.get("/metrics");
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  return parsePrometheus(await response.text());
}

/** Waits until so many requests have been written down. */
const ended = (app: TestApp, requests: number): Promise<void> =>
  waitFor(
    `${requests} ends`,
    () => app.log.filter(({ message }) => message === "request").length === requests,
  );

describe("the numbers of a node", () => {
  test("begin at 0 for every model, and say what runs and whether it is ready", async () => {
    const found = await numbers(testApp());
    expect(sampleValue(found, "paddock_generated_tokens_total", chatty)).toBe(0);
    expect(sampleValue(found, "paddock_embeddings_total", { model: "others" })).toBe(0);
    expect(sampleValue(found, "paddock_runner_restarts_total", chatty)).toBe(0);
    expect(sampleValue(found, "paddock_runner_hangs_total", chatty)).toBe(0);
    expect(sampleValue(found, "paddock_slots", chatty)).toBe(2);
    const build = { version: "1.2.3", engine: "llama.cpp v9 (test)" };
    expect(sampleValue(found, "paddock_build_info", build)).toBe(1);
    expect(sampleValue(found, "paddock_ready")).toBe(1);
    expect(sampleValue(await numbers(testApp({ unprepared: true })), "paddock_ready")).toBe(0);
  });

  test("come without what a store is asked for that hangs", async () => {
    const app = testApp();
    const never = new Promise<number>(() => {});
    app.repository.count = () => never;
    app.registry.queued = () => never;
    const found = await numbers(app);
    expect(sampleValue(found, "paddock_ready")).toBe(0);
    expect(sampleValue(found, "paddock_documents_queued")).toBeUndefined();
    expect(sampleValue(found, "paddock_slots", chatty)).toBe(2);
  });

  test("count what other APIs ask for under the operation's own name", async () => {
    const app = testApp();
    for (let answer = 0; answer < 3; answer++) app.chat.script(text("a"), finish);
    await app.post("/v1/messages", { ...body, max_tokens: 5 });
    await app.post("/v1/messages/count_tokens", body);
    await app.post("/v1/completions", { model: "chatty", prompt: ["a", "b"] });
    await app.post("/v1/tokenize", { model: "chatty", prompt: "a" });
    await ended(app, 4);
    const found = await numbers(app);
    for (const operation of ["messages", "count_tokens", "completions", "tokenize"]) {
      const labels = { operation, status: "200" };
      expect(sampleValue(found, "paddock_requests_total", labels)).toBe(1);
      expect(sampleValue(found, "paddock_request_seconds", { operation }, "_count")).toBe(1);
    }
    expect(sampleValue(found, "paddock_generated_tokens_total", chatty)).toBe(3 * 2);
    expect(sampleValue(found, "paddock_prompt_tokens_total", chatty)).toBe(3 * 3);
  });

  test("count an answer: its request, its tokens and its times", async () => {
    const app = testApp();
    app.chat.script(text("Hi "), text("there"), finish);
    await app.post(path, body);
    await ended(app, 1);
    const found = await numbers(app);
    expect(sampleValue(found, "paddock_requests_total", { operation: "chat", status: "200" })).toBe(
      1,
    );
    expect(sampleValue(found, "paddock_request_seconds", { operation: "chat" }, "_count")).toBe(1);
    expect(sampleValue(found, "paddock_prompt_tokens_total", chatty)).toBe(3);
    expect(sampleValue(found, "paddock_cached_tokens_total", chatty)).toBe(1);
    expect(sampleValue(found, "paddock_generated_tokens_total", chatty)).toBe(2);
    expect(sampleValue(found, "paddock_time_to_first_token_seconds", chatty, "_count")).toBe(1);
    expect(sampleValue(found, "paddock_tokens_per_second", chatty, "_count")).toBe(1);
    expect(sampleValue(found, "paddock_queue_seconds", chatty, "_count")).toBe(1);
    expect(sampleValue(found, "paddock_slots_in_use", chatty)).toBe(0);
  });

  test("count a response as its own operation, also one that is made in the background", async () => {
    const app = testApp();
    const asked = { model: "chatty", input: "q" };
    app.chat.script(text("Hi"), finish).script(text("Hi"), finish).script(text("Hi"), finish);
    await app.post("/v1/responses", asked);
    await (await app.post("/v1/responses", { ...asked, stream: true })).text();
    await app.post("/v1/responses", { ...asked, background: true });
    await ended(app, 3);
    const found = await numbers(app);
    const operation = "responses";
    expect(sampleValue(found, "paddock_requests_total", { operation, status: "200" })).toBe(3);
    expect(sampleValue(found, "paddock_request_seconds", { operation }, "_count")).toBe(3);
    expect(sampleValue(found, "paddock_prompt_tokens_total", chatty)).toBe(9);
    expect(sampleValue(found, "paddock_generated_tokens_total", chatty)).toBe(6);
    expect(sampleValue(found, "paddock_time_to_first_token_seconds", chatty, "_count")).toBe(3);
    expect(sampleValue(found, "paddock_slots_in_use", chatty)).toBe(0);
  });

  test("move while an answer is generated", async () => {
    const app = testApp();
    const held = Promise.withResolvers<void>();
    app.chat.script(text("a"), text("b"), text("c"), () => held.promise, finish);
    const stream = frames(await app.post(path, streamed));
    for (let at = 0; at < 4; at++) await stream.next();
    const during = await numbers(app);
    expect(sampleValue(during, "paddock_generated_tokens_total", chatty)).toBe(3);
    expect(sampleValue(during, "paddock_slots_in_use", chatty)).toBe(1);
    expect(
      sampleValue(during, "paddock_requests_total", { operation: "chat", status: "200" }),
    ).toBe(undefined);
    held.resolve();
    for await (const _ of stream);
    await ended(app, 2);
    const after = await numbers(app);
    // Three events were two tokens: the sum does not fall, the next answer pays.
    expect(sampleValue(after, "paddock_generated_tokens_total", chatty)).toBe(3);
    expect(sampleValue(after, "paddock_slots_in_use", chatty)).toBe(0);
    expect(sampleValue(after, "paddock_requests_total", { operation: "chat", status: "200" })).toBe(
      1,
    );
  });

  test("show who waits in line", async () => {
    const app = testApp();
    const line = Promise.withResolvers<void>();
    app.chat.line = line.promise;
    app.chat.script(finish);
    const answer = app.post(path, body);
    await waitFor("the call", () => app.chat.requests.length === 1);
    expect(sampleValue(await numbers(app), "paddock_queue_length", chatty)).toBe(1);
    line.resolve();
    await answer;
    expect(sampleValue(await numbers(app), "paddock_queue_length", chatty)).toBe(0);
  });

  test("tell a broken stream, a client who left and a refusal from an answer", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), new Error("inside"));
    await readFrames(await app.post(path, streamed));
    app.chat.script(text("Hi"), text("more"), text("more"), finish);
    const left = await app.post(path, streamed);
    await left.body?.cancel();
    app.chat.script(new NodeError("overloaded", "Too many wait."));
    await app.post(path, streamed);
    await ended(app, 3);
    const found = await numbers(app);
    const requests = (status: string) =>
      sampleValue(found, "paddock_requests_total", { operation: "chat", status });
    expect([requests("200"), requests("499"), requests("500"), requests("503")]).toEqual([
      undefined,
      1,
      1,
      1,
    ]);
    expect(sampleValue(found, "paddock_slots_in_use", chatty)).toBe(0);
    expect(sampleValue(found, "paddock_queue_length", chatty)).toBe(0);
  });

  test("count embeddings, and searches with what they found or that they failed", async () => {
    const app = testApp();
    await app.repository.upsert([passage(1, [1, 1])]);
    const model = "vectors";
    await app.post("/v1/embeddings", { model, input: ["one two", "three"] });
    const question = { model, messages: [{ role: "user", content: "q" }] };
    await app.post("/v1/retrieve", question);
    app.chat.script(finish);
    await app.post(path, { ...body, rag: true });
    await app.repository[Symbol.asyncDispose]();
    await app.post("/v1/retrieve", question);
    const found = await numbers(app);
    expect(sampleValue(found, "paddock_embeddings_total", { model })).toBe(5);
    expect(sampleValue(found, "paddock_embedding_seconds", { model }, "_count")).toBe(4);
    expect(sampleValue(found, "paddock_prompt_tokens_total", { model })).toBe(6);
    expect(sampleValue(found, "paddock_retrieval_seconds", {}, "_count")).toBe(3);
    expect(sampleValue(found, "paddock_retrieval_passages", {}, "_sum")).toBe(2);
    expect(sampleValue(found, "paddock_retrieval_failures_total")).toBe(1);
  });

  test("say how often a model's process was started again, and what memory processes hold", async () => {
    const app = testApp();
    app.telemetry.runnerRestarted("chatty", { hung: false });
    app.telemetry.runnerRestarted("chatty", { hung: true });
    const node = app.telemetry.watchMemory("node", () => 1000);
    using _runner = app.telemetry.watchMemory("chatty", () => 500);
    using _away = app.telemetry.watchMemory("vectors", () => undefined);
    const first = await numbers(app);
    expect(sampleValue(first, "paddock_runner_restarts_total", chatty)).toBe(2);
    expect(sampleValue(first, "paddock_runner_hangs_total", chatty)).toBe(1);
    const memory = (found: Families) =>
      found
        .get("paddock_resident_memory_bytes")
        ?.samples.map(({ labels, value }) => [labels.process, value]);
    expect(memory(first)).toEqual([
      ["node", 1000],
      ["chatty", 500],
    ]);
    node[Symbol.dispose]();
    expect(memory(await numbers(app))).toEqual([["chatty", 500]]);
  });

  test("hold nothing that a caller made up", async () => {
    const app = testApp();
    await app.post(path, { ...body, model: "made-up-model" });
    await app.get("/made-up-path");
    await ended(app, 2);
    const page = await (await app.get("/metrics")).text();
    expect(page).not.toContain("made-up");
    expect(page).toContain('paddock_requests_total{operation="other",status="404"} 1');
  });

  test.each([
    ["no keys", {}, undefined, 200],
    ["keys, and none sent", { keys: ["a-good-key"] }, undefined, 401],
    ["keys, and one sent", { keys: ["a-good-key"] }, "a-good-key", 200],
    ["keys, but open numbers", { keys: ["a-good-key"], metricsOpen: true }, undefined, 200],
  ])("want a key where the node does: %s", async (_, options, key, status) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const request = new Request("http://localhost/metrics", { headers });
    expect((await testApp(options).handle(request)).status).toBe(status);
  });

  test("are still shown by a node that stops", async () => {
    expect(sampleValue(await numbers(testApp({ draining: true })), "paddock_ready")).toBe(0);
  });
});
