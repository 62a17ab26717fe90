import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ChatCompletion } from "../../src/server/operations/chat/schema.ts";
import { type ConfiguredNode, configuredNode } from "../support/configured-node.ts";
import { decode } from "../support/decode.ts";
import { type OtlpCollector, otlpCollector } from "../support/otlp-collector.ts";
import type { ServingPaddock } from "../support/paddock-process.ts";
import { type Families, parsePrometheus, sampleValue } from "../support/prometheus-text.ts";
import { tinyChatConfig, tinyConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

const chat = { model: "tiny-chat" };

const post = (
  { origin }: ServingPaddock,
  path: string,
  body: unknown,
  options: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> =>
  fetch(`${origin}${path}`, {
    ...options,
    method: "POST",
    headers: { "content-type": "application/json", ...options.headers },
    body: JSON.stringify(body),
  });

/** A chat of exactly so many tokens: the end token is banned. */
const asked = (tokens: number, more: object = {}) => ({
  ...chat,
  messages: [{ role: "user", content: "hi" }],
  max_tokens: tokens,
  logit_bias: { "2": -100 },
  ...more,
});

/** The lines of the log, each of which must be JSON. */
const logLines = (node: ServingPaddock): Record<string, unknown>[] =>
  node
    .stderr()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));

/** But for those of who waited until the node was ready. */
const requestLines = (node: ServingPaddock): Record<string, unknown>[] =>
  logLines(node).filter(({ msg, operation }) => msg === "request" && operation !== "ready");

const numbers = async ({ origin }: ServingPaddock): Promise<Families> =>
  parsePrometheus(await (await fetch(`${origin}/metrics`)).text());

describe("a node that is watched", () => {
  let collector: OtlpCollector;
  let node: ConfiguredNode;
  beforeAll(async () => {
    collector = otlpCollector();
    const env = { PADDOCK_OTLP_ENDPOINT: collector.endpoint };
    node = await configuredNode(await tinyConfig(), { env });
  });
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await collector[Symbol.asyncDispose]();
  });

  test("has numbers and log lines that fit what was asked of it", async () => {
    const plain = await post(node, "/v1/chat/completions", asked(8));
    const { usage } = await decode(ChatCompletion, plain);
    expect(plain.headers.get("server-timing")).toMatch(
      /^queue;dur=[\d.]+, first;dur=[\d.]+, total;dur=[\d.]+$/,
    );
    const streamed = await post(node, "/v1/chat/completions", asked(12, { stream: true }));
    expect(streamed.headers.get("server-timing")).toMatch(/^queue;dur=[\d.]+, first;dur=[\d.]+$/);
    await streamed.text();
    await post(node, "/v1/embeddings", { model: "tiny-embedding", input: ["a", "b", "c"] });
    await post(node, "/v1/retrieve", { model: "tiny-embedding", messages: asked(1).messages });
    await post(node, "/v1/chat/completions", { ...asked(1), model: "nobody" });
    await waitFor("five lines", () => requestLines(node).length === 5);

    const found = await numbers(node);
    const requests = (operation: string, status: string) =>
      sampleValue(found, "paddock_requests_total", { operation, status });
    expect([requests("chat", "200"), requests("chat", "500")]).toEqual([2, 1]);
    expect([requests("embeddings", "200"), requests("retrieve", "200")]).toEqual([1, 1]);
    expect(sampleValue(found, "paddock_generated_tokens_total", chat)).toBe(20);
    expect(sampleValue(found, "paddock_prompt_tokens_total", chat)).toBe(2 * usage.prompt_tokens);
    expect(sampleValue(found, "paddock_time_to_first_token_seconds", chat, "_count")).toBe(2);
    expect(sampleValue(found, "paddock_tokens_per_second", chat, "_count")).toBe(2);
    expect(sampleValue(found, "paddock_queue_seconds", chat, "_count")).toBe(2);
    expect(sampleValue(found, "paddock_slots", chat)).toBe(4);
    expect(sampleValue(found, "paddock_slots_in_use", chat)).toBe(0);
    const embedding = { model: "tiny-embedding" };
    expect(sampleValue(found, "paddock_embeddings_total", embedding)).toBe(4);
    expect(sampleValue(found, "paddock_retrieval_seconds", {}, "_count")).toBe(1);
    const memory = sampleValue(found, "paddock_resident_memory_bytes", { process: "node" });
    expect(memory).toBeGreaterThan(10_000_000);
    const build = found.get("paddock_build_info")?.samples[0]?.labels.engine;
    expect(build).toContain("llama.cpp");
    expect(sampleValue(found, "paddock_ready")).toBe(1);

    const ms = expect.any(Number);
    expect(requestLines(node)[1]).toEqual({
      level: 30,
      time: ms,
      msg: "request",
      id: streamed.headers.get("x-request-id"),
      key: "anyone",
      operation: "chat",
      method: "POST",
      path: "/v1/chat/completions",
      model: "tiny-chat",
      status: 200,
      outcome: "ok",
      prompt_tokens: usage.prompt_tokens,
      cached_tokens: ms,
      completion_tokens: 12,
      queue_ms: ms,
      first_token_ms: ms,
      total_ms: ms,
    });
  });

  test("writes down that a client left its stream, and when", async () => {
    const gone = new AbortController();
    const { signal } = gone;
    const body = asked(1900, { stream: true });
    const stream = await post(node, "/v1/chat/completions", body, { signal });
    const reader = stream.body?.getReader();
    await reader?.read();
    const during = await numbers(node);
    expect(sampleValue(during, "paddock_slots_in_use", chat)).toBe(1);
    gone.abort();
    const id = stream.headers.get("x-request-id");
    const lineOf = () => requestLines(node).find((line) => line.id === id);
    await waitFor("the line", () => lineOf() !== undefined);
    const line = lineOf();
    expect(line).toMatchObject({ operation: "chat", status: 200, outcome: "client left" });
    expect(Number(line?.completion_tokens)).toBeLessThan(1900);
    const after = await numbers(node);
    const left = { operation: "chat", status: "499" };
    expect(sampleValue(after, "paddock_requests_total", left)).toBe(1);
    expect(sampleValue(after, "paddock_slots_in_use", chat)).toBe(0);
  });

  test("sends its traces before it stops, in the caller's trace", async () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    const answer = await post(node, "/v1/chat/completions", asked(3), { headers });
    const wanted = answer.headers.get("x-request-id");
    await waitFor("the line", () => requestLines(node).some(({ id }) => id === wanted));
    node.process.kill("SIGTERM");
    expect(await node.exit()).toBe(0);
    const spans = collector.spans.filter((span) => span.traceId === traceId);
    expect(spans.map(({ name }) => name).sort()).toEqual([
      "chat tiny-chat",
      "generation",
      "prompt",
      "queue",
    ]);
  });
});

describe("a node with one slot, whose collector of traces is away", () => {
  let endpoint: string;
  let node: ConfiguredNode;
  beforeAll(async () => {
    const away = otlpCollector();
    await away[Symbol.asyncDispose]();
    endpoint = away.endpoint;
    const config = await tinyChatConfig("ctx_size = 2048\nparallel = 1\nmax_queue = 1");
    node = await configuredNode(config, { env: { PADDOCK_OTLP_ENDPOINT: endpoint } });
  });
  afterAll(() => node[Symbol.asyncDispose]());

  test("is not ready while a queue is full, which is when it refuses", async () => {
    const stream = await post(node, "/v1/chat/completions", asked(1900, { stream: true }));
    const waits = post(node, "/v1/chat/completions", asked(1));
    let found = await numbers(node);
    while (sampleValue(found, "paddock_queue_length", chat) !== 1) found = await numbers(node);
    expect(sampleValue(found, "paddock_slots_in_use", chat)).toBe(1);
    expect(sampleValue(found, "paddock_ready")).toBe(0);
    const ready = await fetch(`${node.origin}/ready`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      {
        status: "not ready",
        reasons: ["The queue of the model 'tiny-chat' is full: 1 waiting, 1 being answered."],
      },
    ]);
    expect((await post(node, "/v1/chat/completions", asked(1))).status).toBe(503);
    await stream.body?.cancel();
    expect((await waits).status).toBe(200);
    expect((await fetch(`${node.origin}/ready`)).status).toBe(200);
  });

  test("answers and stops as ever, and says once that traces are not delivered", async () => {
    const warnings = () =>
      logLines(node).filter(({ level, msg }) => level === 40 && String(msg).includes("traces"));
    await fetch(`${node.origin}/v1/info`);
    await waitFor("the warning", () => warnings().length === 1);
    await fetch(`${node.origin}/v1/info`);
    node.process.kill("SIGTERM");
    expect(await node.exit()).toBe(0);
    expect(warnings().map((line) => [line.msg, line.endpoint])).toEqual([
      ["traces cannot be delivered; they are dropped until the collector answers", endpoint],
    ]);
  });
});
