import { describe, expect, test } from "bun:test";
import type { GenerationRequest } from "../../../../src/core/ports/chat-engine.ts";
import { ignoredSampling } from "../../../../src/gateway/upstream/server-facts.ts";
import { greedy } from "../../../support/greedy.ts";
import { modelList, openAiServer, streamOf } from "../../../support/openai-server.ts";
import { recordedTei } from "../../../support/recorded-tei.ts";
import { recordedVllm, vllmError, vllmModel } from "../../../support/recorded-vllm.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import {
  openFarChat,
  openFarEmbedding,
  openFarReranker,
  targetAt,
} from "../../../support/upstream.ts";

const { signal } = new AbortController();
const request: GenerationRequest = {
  messages: [{ role: "user", content: "The capital of France?" }],
  sampling: greedy,
};

const vllmTarget = (url: string, rest = {}) =>
  targetAt(`${url}/v1`, { upstreamModel: vllmModel, ...rest });

describe("vLLM, by its documentation", () => {
  test("is known, says its context, and counts tokens with the prompt's template", async () => {
    await using server = recordedVllm();
    const { target } = vllmTarget(server.url);
    await using model = await openFarChat(target);
    expect(model.card).toMatchObject({
      ownedBy: "vllm",
      createdAt: new Date(1_762_000_000_000),
      settings: { ctxSize: 40_960 },
      upstream: { model: vllmModel, server: "vLLM 0.11.0", tokens: "counted" },
    });
    const tools = [{ name: "look" }];
    expect(await model.engine.countTokens(request.messages, tools)).toBe(23);
    expect(server.asked.at(-1)).toMatchObject({
      path: "/tokenize",
      body: {
        model: vllmModel,
        messages: request.messages,
        tools: [{ type: "function", function: { name: "look" } }],
      },
    });
  });

  test("takes less context than it has where the configuration says so, and never more", async () => {
    await using server = recordedVllm();
    const { target, lines } = vllmTarget(server.url);
    await using small = await openFarChat(target, { ctxSize: 8192 });
    await using large = await openFarChat(target, { ctxSize: 100_000 });
    expect([small.engine.contextSize, large.engine.contextSize]).toEqual([8192, 40_960]);
    expect(lines.map(({ message }) => message)).toContain(
      "ctx_size is more than an upstream model's context",
    );
  });

  test("answers, and its replica is told that it is well and free again", async () => {
    await using server = recordedVllm();
    const { target, replicas } = vllmTarget(server.url);
    await using model = await openFarChat(target);
    const started: number[] = [];
    const events = await Array.fromAsync(
      model.engine.generate(request, { signal, onStart: (tokens) => started.push(tokens) }),
    );
    expect(events.map((event) => ("text" in event ? event.text : event.type))).toEqual([
      "Paris",
      ".",
      "finish",
    ]);
    expect(started).toEqual([expect.any(Number)]);
    expect([replicas.inFlight(), replicas.said.at(-1)]).toEqual([0, "succeeded"]);
    expect(replicas.prefixes.at(-1)).toMatch(/^[0-9a-f]{64}$/);
  });

  test("embeds in base64, in any order; vectors are brought to unit length", async () => {
    await using server = recordedVllm();
    await using model = await openFarEmbedding(vllmTarget(server.url).target);
    const { engine } = model;
    expect([engine.dimension, engine.maxTokens, engine.estimatesTokens]).toEqual([
      2,
      40_960,
      false,
    ]);
    const texts = ["four", "", "12345678"].map((text) => text || "x");
    const [first, , third] = await engine.embed(texts, { signal });
    expect([...(first?.vector ?? [])].map((value) => value.toFixed(2))).toEqual(["0.80", "0.60"]);
    expect([...(third?.vector ?? [])].map((value) => value.toFixed(2))).toEqual(["0.94", "0.35"]);
    expect(await engine.countTokens(["some", "  ", [1, 2, 3]])).toEqual([23, 0, 3]);
  });

  test("ranks passages, those that are too long as well", async () => {
    await using server = recordedVllm();
    await using model = await openFarReranker(vllmTarget(server.url).target);
    expect(model.card).toMatchObject({
      type: "reranker",
      settings: { ctxSize: 40_960 },
      upstream: { model: vllmModel, server: "vLLM 0.11.0", tokens: "counted" },
    });
    const { engine } = model;
    expect(await engine.rank("q", ["a", "abc", ""], { signal })).toEqual({
      scores: [0.5, 0.75, 0],
      tokens: 9,
    });
    expect(server.asked.at(-1)?.body).toEqual({
      model: vllmModel,
      query: "q",
      documents: ["a", "abc", ""],
      truncate_prompt_tokens: -1,
    });
    expect(await engine.rank("q", [], { signal })).toEqual({ scores: [], tokens: 0 });
  });

  test("that does not accept the key is the node's matter, and the key is in no log", async () => {
    await using server = recordedVllm({ key: "right" });
    const { target, lines } = vllmTarget(server.url, { key: "wrong-key-of-ours" });
    expect(await rejectionOf(openFarChat(target))).toMatchObject({
      kind: "upstream_refused",
      message: expect.stringContaining("does not accept this node's key for it"),
    });
    expect(JSON.stringify(lines)).not.toContain("wrong-key-of-ours");
  });

  test("that has another model says which", async () => {
    await using server = recordedVllm();
    const { target } = targetAt(`${server.url}/v1`);
    expect(await rejectionOf(openFarChat(target))).toMatchObject({
      kind: "upstream_refused",
      message: `The server of the model 'far' does not know a model 'far'; it has '${vllmModel}'. Correct 'upstream_model'.`,
    });
  });

  test("that refuses a field, refuses it to the caller", async () => {
    await using server = recordedVllm({
      instead: ({ path, body }) =>
        path === "/v1/chat/completions" && Object(body).temperature === 9
          ? vllmError(400, "temperature must be in [0, 2], got 9.", "temperature")
          : undefined,
    });
    const { target, replicas } = vllmTarget(server.url);
    await using model = await openFarChat(target);
    const hot = { ...request, sampling: { ...greedy, temperature: 9 } };
    expect(
      await rejectionOf(Array.fromAsync(model.engine.generate(hot, { signal }))),
    ).toMatchObject({
      kind: "invalid_request",
      param: "temperature",
      message: "temperature must be in [0, 2], got 9.",
    });
    expect([replicas.inFlight(), replicas.said.at(-1)]).toEqual([0, "succeeded"]);
  });

  test("that dies amid an answer ends it with an error, after what it said", async () => {
    await using server = recordedVllm({ stream: "broken" });
    await using model = await openFarChat(vllmTarget(server.url).target);
    const heard: string[] = [];
    const reading = (async () => {
      for await (const event of model.engine.generate(request, { signal })) {
        if (event.type === "text") heard.push(event.text);
      }
    })();
    expect(await rejectionOf(reading)).toMatchObject({ kind: "upstream_failed" });
    expect(heard).toEqual(["Par"]);
  });

  test("without /tokenize is estimated, which the log says", async () => {
    await using server = recordedVllm({
      instead: ({ path }) =>
        path === "/tokenize" ? Response.json({ detail: "Not Found" }, { status: 404 }) : undefined,
    });
    const { target, lines } = vllmTarget(server.url);
    await using model = await openFarChat(target);
    expect(model.card.upstream?.tokens).toBe("estimated");
    expect(await model.engine.countTokens(request.messages)).toBeGreaterThan(20);
    expect(lines.map(({ message }) => message)).toContain(
      "tokens of an upstream model are estimated, rather too many than too few",
    );
  });
});

describe("Text Embeddings Inference, by its documentation", () => {
  test("is known without a list of models, and takes only so many texts at once", async () => {
    await using server = recordedTei();
    const { target } = targetAt(`${server.url}/v1`);
    await using model = await openFarEmbedding(target);
    expect(model.card).toMatchObject({
      settings: { ctxSize: 512 },
      upstream: { server: "Text Embeddings Inference 1.7.1", tokens: "counted" },
    });
    const texts = Array.from({ length: 10 }, (_, at) => "x".repeat(at + 1));
    const embeddings = await model.engine.embed(texts, { signal });
    expect(
      embeddings.map(({ vector }) => Math.round(4 * ((vector[0] ?? 0) / (vector[1] ?? 1)))),
    ).toEqual(texts.map(({ length }) => length));
    expect(embeddings.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(30);
    expect(await model.engine.countTokens(["two words"])).toEqual([4]);
  });

  test("refuses a text that is too long as the caller's", async () => {
    await using server = recordedTei();
    await using model = await openFarEmbedding(targetAt(`${server.url}/v1`).target);
    const long = model.engine.embed(["word ".repeat(600)], { signal });
    expect(await rejectionOf(long)).toMatchObject({
      kind: "context_length_exceeded",
      param: "input",
    });
  });

  test("ranks at its own address, in as many requests as it wants", async () => {
    await using server = recordedTei();
    await using model = await openFarReranker(targetAt(server.url).target);
    const asked = () => server.asked.filter(({ path }) => path === "/rerank").length;
    const before = asked();
    const passages = Array.from({ length: 6 }, (_, at) => "x".repeat(at));
    expect(await model.engine.rank("q", passages, { signal })).toEqual({
      scores: [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6],
      // Estimated: it says none.
      tokens: 39,
    });
    expect([model.card.upstream?.tokens, asked() - before]).toEqual(["estimated", 2]);
  });

  test("tells weights apart by their digest", async () => {
    const info = { model_sha: "other", max_client_batch_size: 4, max_input_length: 512 };
    await using server = recordedTei();
    await using other = recordedTei({
      instead: ({ path }) => (path === "/info" ? Response.json(info) : undefined),
    });
    await using one = await openFarEmbedding(targetAt(`${server.url}/v1`).target);
    await using same = await openFarEmbedding(targetAt(`${server.url}/v1`).target);
    await using changed = await openFarEmbedding(targetAt(`${other.url}/v1`).target);
    expect(same.identity.fingerprint).toBe(one.identity.fingerprint);
    expect(changed.identity.fingerprint).not.toBe(one.identity.fingerprint);
  });
});

describe("a server that nobody knows", () => {
  test("is asked by the API alone, and what it does not say is assumed and told", async () => {
    const stream =
      'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
    await using server = openAiServer(({ path, body }) => {
      if (path === "/v1/models") return modelList("far", "near");
      if (path !== "/v1/chat/completions") return undefined;
      return Object(body).messages.length === 0
        ? Response.json({ error: { message: "No messages." } }, { status: 400 })
        : streamOf([stream]);
    });
    const { target, lines } = targetAt(`${server.url}/v1`);
    await using model = await openFarChat(target);
    expect([model.ignores, model.engine.contextSize]).toEqual([ignoredSampling("plain"), 4096]);
    const events = await Array.fromAsync(model.engine.generate(request, { signal }));
    expect(events.at(-1)).toMatchObject({ usage: { completionTokens: 1 } });
    expect(lines.map(({ message }) => message)).toEqual([
      "the context size of an upstream model is not known; set 'ctx_size'",
      "tokens of an upstream model are estimated, rather too many than too few",
      "an upstream server does not count tokens; they are estimated",
    ]);
  });

  test("whose scores are cosines keeps them, whatever was asked before", async () => {
    let scores = [0.9, 0.1];
    await using server = recordedVllm({
      instead: ({ path }) =>
        path === "/v1/rerank"
          ? Response.json({
              results: scores.map((relevance_score, index) => ({ index, relevance_score })),
            })
          : undefined,
    });
    const { target } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
    await using model = await openFarReranker(target);
    const ranked = async () => (await model.engine.rank("q", ["a", "b"], { signal })).scores;
    expect(await ranked()).toEqual([0.9, 0.1]);
    scores = [1.000_001, -0.02];
    expect(await ranked()).toEqual([1, 0]);
    scores = [0.9, 0.1];
    expect(await ranked()).toEqual([0.9, 0.1]);
  });

  test("whose scores are logits has them made probabilities", async () => {
    await using server = openAiServer(({ path }) =>
      path === "/v1/rerank"
        ? Response.json({
            results: [
              { index: 0, relevance_score: -2 },
              { index: 1, relevance_score: 0 },
            ],
          })
        : undefined,
    );
    await using model = await openFarReranker(targetAt(`${server.url}/v1`).target);
    const { scores } = await model.engine.rank("q", ["a", "b"], { signal });
    expect(scores.map((score) => score.toFixed(3))).toEqual(["0.119", "0.500"]);
  });
});
