import { describe, expect, test } from "bun:test";
import { OtlpTraces } from "../../src/telemetry/otlp-traces.ts";
import { type CollectedSpan, otlpCollector } from "../support/otlp-collector.ts";
import { passage } from "../support/passages.ts";
import { recordingLog } from "../support/recording-log.ts";
import { finish } from "../support/scripted-engines.ts";
import { readFrames } from "../support/sse.ts";
import { type TestApp, type TestAppOptions, testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const path = "/v1/chat/completions";
const body = { model: "chatty", messages: [{ role: "user", content: "q" }] };
const text = (value: string) => ({ type: "text", text: value }) as const;
const version = "1.2.3";

const ends = ({ log }: TestApp): number =>
  log.filter(({ message }) => message === "request").length;

/** The spans of what is asked, once so many requests have ended. */
async function traced(
  requests: number,
  ask: (app: TestApp) => Promise<unknown>,
  options: TestAppOptions = {},
): Promise<CollectedSpan[]> {
  await using collector = otlpCollector();
  const { endpoint, spans } = collector;
  const { log, lines } = recordingLog();
  {
    await using traces = new OtlpTraces({ endpoint, version, log, timeoutMs: 60_000 });
    const app = testApp({ ...options, watchers: [traces] });
    await ask(app);
    await waitFor("the ends", () => ends(app) === requests);
  }
  expect(lines).toEqual([]);
  return spans;
}

/** Each span with its parent's name, and whether it lies inside of it. */
function tree(spans: readonly CollectedSpan[]) {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  return spans
    .toSorted((a, b) => Number(a.from - b.from) || a.name.localeCompare(b.name))
    .map((span) => {
      const parent = byId.get(span.parent ?? "");
      if (parent !== undefined) {
        expect(span.from >= parent.from && span.to <= parent.to).toBe(true);
        expect(span.traceId).toBe(parent.traceId);
      }
      return `${span.name} in ${parent?.name ?? "nothing"}`;
    })
    .sort();
}

describe("a trace", () => {
  test("has the parts of an answer inside its request", async () => {
    const spans = await traced(1, async (app) => {
      app.chat.script(text("a"), text("b"), finish);
      await app.post(path, body, { "x-request-id": "mine" });
    });
    expect(tree(spans)).toEqual([
      "chat chatty in nothing",
      "generation in chat chatty",
      "prompt in chat chatty",
      "queue in chat chatty",
    ]);
    const attributes = (name: string) => spans.find((span) => span.name === name)?.attributes;
    expect(attributes("chat chatty")).toEqual({
      "http.request.method": "POST",
      "url.path": path,
      "http.response.status_code": 200,
      "gen_ai.provider.name": "paddock",
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "chatty",
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.cache_read.input_tokens": 1,
      "gen_ai.usage.output_tokens": 2,
      "paddock.request.id": "mine",
      "paddock.key": "anyone",
      "paddock.outcome": "ok",
    });
    expect(attributes("generation")).toEqual({
      "gen_ai.request.model": "chatty",
      "gen_ai.usage.output_tokens": 2,
    });
    const root = spans.find(({ isServer }) => isServer);
    expect([root?.service, root?.name, root?.failed]).toEqual(["paddock", "chat chatty", false]);
    // The time of day, not of the process.
    expect(Math.abs(Number((root?.to ?? 0n) / 1_000_000n) - Date.now())).toBeLessThan(60_000);
  });

  test.each([false, true])("has the same parts for a response; streamed: %p", async (stream) => {
    const spans = await traced(1, async (app) => {
      app.chat.script(text("a"), text("b"), finish);
      await (await app.post("/v1/responses", { model: "chatty", input: "q", stream })).text();
    });
    expect(tree(spans)).toEqual([
      "chat chatty in nothing",
      "generation in chat chatty",
      "prompt in chat chatty",
      "queue in chat chatty",
    ]);
    expect(spans.find(({ isServer }) => isServer)?.attributes).toMatchObject({
      "url.path": "/v1/responses",
      "http.response.status_code": 200,
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "chatty",
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.output_tokens": 2,
      "paddock.outcome": "ok",
    });
  });

  test("has the name of what other APIs ask for, and the tokens of all prompts", async () => {
    const spans = await traced(2, async (app) => {
      for (let answer = 0; answer < 5; answer++) app.chat.script(text("a"), finish);
      await app.post("/v1/messages", { ...body, max_tokens: 5 });
      await app.post("/v1/completions", { model: "chatty", prompt: ["a", "b"], n: 2 });
    });
    const asked = spans.filter(({ isServer }) => isServer).map(({ name }) => name);
    expect(asked.toSorted()).toEqual(["chat chatty", "text_completion chatty"]);
    const attributes = (name: string) => spans.find((span) => span.name === name)?.attributes;
    expect(attributes("chat chatty")).toMatchObject({
      "url.path": "/v1/messages",
      "gen_ai.operation.name": "chat",
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.output_tokens": 2,
    });
    expect(attributes("text_completion chatty")).toMatchObject({
      "url.path": "/v1/completions",
      "gen_ai.operation.name": "text_completion",
      "gen_ai.request.model": "chatty",
      "gen_ai.usage.input_tokens": 2 * 3,
      "gen_ai.usage.cache_read.input_tokens": 2,
      "gen_ai.usage.output_tokens": 4 * 2,
    });
  });

  test("has retrieval, with its embedding inside", async () => {
    const spans = await traced(1, async (app) => {
      await app.repository.upsert([passage(1, [1, 1])]);
      app.chat.script(text("a"), finish);
      await app.post(path, { ...body, rag: true });
    });
    expect(tree(spans)).toEqual([
      "chat chatty in nothing",
      "embedding in retrieval",
      "generation in chat chatty",
      "prompt in chat chatty",
      "queue in chat chatty",
      "retrieval in chat chatty",
    ]);
    const retrieval = spans.find(({ name }) => name === "retrieval");
    expect(retrieval?.attributes).toEqual({ "paddock.passages": 1 });
  });

  test("is there for embeddings, retrieval and what no model does", async () => {
    const spans = await traced(4, async (app) => {
      await app.post("/v1/embeddings", { model: "vectors", input: ["a", "b c"] });
      await app.post("/v1/retrieve", { ...body, model: "vectors" });
      await app.get("/v1/models");
      await app.get("/made-up");
    });
    expect(tree(spans)).toEqual([
      "GET in nothing",
      "embedding in embeddings vectors",
      "embedding in retrieval",
      "embeddings vectors in nothing",
      "models in nothing",
      "retrieval in retrieval vectors",
      "retrieval vectors in nothing",
    ]);
    const asked = spans.find(({ name }) => name === "embeddings vectors");
    expect(asked?.attributes).toMatchObject({ "gen_ai.usage.input_tokens": 3 });
  });

  test("has what is reranked, by itself and inside a search", async () => {
    const options = { reranks: true, retrieval: { reranker: "judge" } };
    const spans = await traced(
      2,
      async (app) => {
        await app.repository.upsert([passage(1, [1, 1])]);
        await app.post("/v1/rerank", { model: "judge", query: "a", documents: ["a", "b"] });
        await app.post("/v1/retrieve", { ...body, model: "vectors" });
      },
      options,
    );
    expect(tree(spans)).toEqual([
      "embedding in retrieval",
      "rerank in nothing",
      "rerank in rerank",
      "rerank in retrieval",
      "retrieval in retrieval vectors",
      "retrieval vectors in nothing",
    ]);
    const inner = spans.find(({ name, isServer }) => name === "rerank" && !isServer);
    expect(inner?.attributes).toEqual({
      "gen_ai.request.model": "judge",
      "gen_ai.usage.input_tokens": 4,
      "paddock.passages": 2,
    });
  });

  test("goes on with the caller's", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const [span] = await traced(1, (app) =>
      app.handle(new Request("http://localhost/v1/info", { headers: { traceparent } })),
    );
    expect([span?.traceId, span?.parent]).toEqual([
      "0af7651916cd43dd8448eb211c80319c",
      "b7ad6b7169203331",
    ]);
  });

  test.each([
    [
      "is not made where the caller's is not kept",
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
      0,
    ],
    ["begins anew where the caller's makes no sense", "00-zzz-01", 1],
  ])("%s", async (_, traceparent, made) => {
    const spans = await traced(1, (app) =>
      app.handle(new Request("http://localhost/v1/info", { headers: { traceparent } })),
    );
    expect(spans).toHaveLength(made);
    expect(spans.flatMap(({ parent }) => parent ?? [])).toEqual([]);
  });

  test("says that a stream broke off", async () => {
    const spans = await traced(1, async (app) => {
      app.chat.script(text("a"), new Error("inside"));
      await readFrames(await app.post(path, { ...body, stream: true }));
    });
    const root = spans.find(({ isServer }) => isServer);
    expect(root?.failed).toBe(true);
    expect(root?.attributes).toMatchObject({
      "http.response.status_code": 200,
      "error.type": "500",
      "paddock.outcome": "error",
    });
    expect(tree(spans)).toHaveLength(4);
  });

  test("is not made for those who look after the node", async () => {
    const spans = await traced(3, async (app) => {
      await app.get("/health");
      await app.get("/ready");
      await app.get("/metrics");
    });
    expect(spans).toEqual([]);
  });
});
