import { describe, expect, test } from "bun:test";
import { RerankResult } from "../../src/server/operations/rerank.ts";
import { untilAborted } from "../support/aborted.ts";
import { decode, decodeError } from "../support/decode.ts";
import { parsePrometheus, sampleValue } from "../support/prometheus-text.ts";
import { type TestAppOptions, testApp } from "../support/test-app.ts";

const path = "/v1/rerank";
const reranking = (options: TestAppOptions = {}) => testApp({ reranks: true, ...options });
/** The scripted model gives the share of letters that are in the query too: 1/2, 1, 0. */
const body = { model: "judge", query: "ab", documents: ["ax", "ba", "zz"] };

const rerank = async (sent: unknown, to = path): Promise<RerankResult> => {
  const response = await reranking().post(to, sent);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  return await decode(RerankResult, response);
};

const ranked = async (sent: unknown, to?: string) =>
  (await rerank(sent, to)).results.map(({ index, relevance_score }) => [index, relevance_score]);

describe("reranking", () => {
  test("answers with the documents' places and scores, best first, and what was read", async () => {
    expect<unknown>(await rerank(body)).toEqual({
      id: expect.stringMatching(/^rerank-./),
      object: "list",
      model: "judge",
      results: [
        { index: 1, relevance_score: 1, document: { text: "ba" } },
        { index: 0, relevance_score: 0.5, document: { text: "ax" } },
        { index: 2, relevance_score: 0, document: { text: "zz" } },
      ],
      usage: { prompt_tokens: 6, total_tokens: 6 },
      meta: { tokens: { input_tokens: 6 } },
    });
  });

  test("takes documents that are objects, and names those of their fields that it does not read", async () => {
    const documents = [{ text: "ax", title: "A", note: null }, "ba", { text: "zz" }];
    const response = await reranking().post(path, { ...body, documents });
    expect(response.headers.get("x-paddock-ignored")).toBe("documents[0].title");
    expect(await decode(RerankResult, response)).toMatchObject({
      results: [{ index: 1 }, { index: 0, document: { text: "ax" } }, { index: 2 }],
    });
  });

  test("keeps the order of the request among equals", async () => {
    expect(await ranked({ ...body, documents: ["b", "a", "z", "ab"] })).toEqual([
      [0, 1],
      [1, 1],
      [3, 1],
      [2, 0],
    ]);
  });

  test.each([
    [1, 1],
    [2, 2],
    [9, 3],
    [0, 3],
    [null, 3],
  ])("answers with so many as top_n says: %p", async (top_n, count) => {
    expect((await rerank({ ...body, top_n })).results).toHaveLength(count);
  });

  test("repeats documents where the request wants it, or the API that the address is of", async () => {
    const has = async (to: string, return_documents?: boolean | null) =>
      (await rerank({ ...body, return_documents }, to)).results.every(
        ({ document }) => document !== undefined,
      );
    expect(await has("/v1/rerank")).toBe(true);
    expect(await has("/v1/rerank", null)).toBe(true);
    expect(await has("/v1/rerank", false)).toBe(false);
    expect(await has("/v2/rerank")).toBe(false);
    expect(await has("/v2/rerank", true)).toBe(true);
  });

  test("reads as much of a document as it is told to, and no more than a request may have", async () => {
    const app = reranking();
    await app.post(path, { ...body, max_tokens_per_doc: 7 });
    await app.post(path, body);
    expect(
      app.reranker.requests.map(({ options }) => [options.maxPassageTokens, options.maxTokens]),
    ).toEqual([
      [7, 600_000],
      [undefined, 600_000],
    ]);
  });

  test("takes an empty document, which fits nothing", async () => {
    expect(await ranked({ ...body, documents: ["", "a"] })).toEqual([
      [1, 1],
      [0, 0],
    ]);
  });

  test("writes thousands of long documents back", async () => {
    const documents = Array.from({ length: 400 }, (_, at) => `${at} ${"x".repeat(2000)}`);
    const { results } = await rerank({ ...body, documents });
    expect(results).toHaveLength(400);
    for (const { index, document } of results) expect(document?.text).toBe(documents[index] ?? "");
  });
});

describe("a request to rerank that cannot be answered", () => {
  test.each([
    [{ ...body, model: undefined }, "model", /^'model' is required/],
    [{ ...body, query: undefined }, "query", /^'query' is required/],
    [{ ...body, query: "" }, "query", /not empty/],
    [{ ...body, query: " \n" }, "query", /^'query' is empty; say what the documents are to fit\.$/],
    [{ ...body, query: ["ab"] }, "query", /must be a string/],
    [{ ...body, documents: undefined }, "documents", /^'documents' is required/],
    [{ ...body, documents: [] }, "documents", /at least 1/],
    [{ ...body, documents: "ax" }, "documents", /must be a list/],
    [{ ...body, documents: ["a", 7] }, "documents[1]", /a string, or an object with a 'text'/],
    [{ ...body, documents: ["a", {}] }, "documents[1].text", /^'documents\[1\]\.text' is required/],
    [{ ...body, documents: Array(2049).fill("a") }, "documents", /a list of 2049; this node takes/],
    [{ ...body, top_n: -1 }, "top_n", /at least 0/],
    [{ ...body, top_n: 1.5 }, "top_n", /an integer/],
    [{ ...body, max_tokens_per_doc: 0 }, "max_tokens_per_doc", /at least 1/],
    [{ ...body, return_documents: "yes" }, "return_documents", /true or false/],
    [{ ...body, truncate_prompt_tokens: 9 }, "truncate_prompt_tokens", /'max_tokens_per_doc' cuts/],
    [{ ...body, texts: ["a"] }, "texts", /send 'documents'\.$/],
    [{ ...body, rank_fields: ["title"] }, "rank_fields", /^'rank_fields' cannot be honoured/],
    [{ ...body, use_activation: false }, "use_activation", /scores are probabilities/],
  ])("names the field: %j", async (sent, param, message) => {
    const app = reranking();
    const response = await app.post(path, sent);
    expect([response.status, await decodeError(response)]).toEqual([
      400,
      {
        message: expect.stringMatching(message),
        type: "invalid_request_error",
        param,
        code: null,
      },
    ]);
    expect(app.reranker.requests).toEqual([]);
  });

  test.each([
    ["nobody", "The model 'nobody' is not on this node."],
    ["vectors", "The model 'vectors' is a model of type 'embedding'."],
  ])("is a 404 model_not_found for the model '%s', to Cohere's clients too", async (model, why) => {
    const message = `${why} The reranker models of this node are: judge.`;
    const error = {
      message,
      type: "invalid_request_error",
      param: "model",
      code: "model_not_found",
    };
    const response = await reranking().post(path, { ...body, model });
    expect([response.status, await response.json()]).toEqual([404, { error }]);
    const cohere = await reranking().post("/v2/rerank", { ...body, model });
    expect([cohere.status, await cohere.json()]).toEqual([
      404,
      { id: expect.any(String), message, error },
    ]);
  });

  test("is a 503 while the model is not ready", async () => {
    const response = await reranking({ unprepared: true }).post(path, body);
    expect([response.status, (await decodeError(response)).code]).toEqual([503, "model_not_ready"]);
  });

  test("is a 504 when the model takes longer than a request may", async () => {
    const app = reranking({ requestTimeoutMs: 5 });
    app.reranker.rank = (_question, _passages, { signal }) => untilAborted(signal);
    const response = await app.post(path, body);
    expect([response.status, (await decodeError(response)).code]).toEqual([504, "request_timeout"]);
  });

  test("ends the model's work when its caller leaves", async () => {
    const app = reranking();
    const leave = new AbortController();
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<AbortSignal>();
    app.reranker.rank = (_question, _passages, { signal }) => {
      asked(signal);
      return untilAborted(signal);
    };
    const answer = app.handle(
      new Request(`http://localhost${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: leave.signal,
      }),
    );
    const signal = await isAsked;
    leave.abort();
    expect((await answer).status).toBe(499);
    expect(signal.aborted).toBe(true);
  });
});

describe("a request to rerank", () => {
  test("wants a key that opens embeddings: it reads the caller's texts, and none of the node's", async () => {
    const app = reranking({ keys: ["secret"] });
    expect((await app.post(path, body)).status).toBe(401);
    const allowed = await app.post(path, body, { authorization: "Bearer secret" });
    expect(allowed.status).toBe(200);
  });

  test("is charged what the model read", async () => {
    const app = reranking({ callerLimits: { tokensPerMinute: 60 }, now: () => 0 });
    const response = await app.post(path, body);
    expect(response.headers.get("x-ratelimit-remaining-tokens")).toBe("54");
  });

  test("is counted, and so is what a search reranks", async () => {
    const app = reranking({ retrieval: { reranker: "judge" } });
    await app.post(path, body);
    const samples = parsePrometheus(await (await app.get("/metrics")).text());
    const value = (name: string, suffix?: string) =>
      sampleValue(samples, name, { model: "judge" }, suffix);
    expect(value("paddock_reranked_passages_total")).toBe(3);
    expect(value("paddock_rerank_seconds", "_count")).toBe(1);
    expect(value("paddock_prompt_tokens_total")).toBe(6);
    expect(value("paddock_queue_length")).toBe(0);
  });

  test("is named in the prompt log with what it asks and how the documents came out", async () => {
    const app = reranking({ logPrompts: true });
    await app.post(path, body);
    const said = JSON.stringify(app.log);
    expect(said).toContain('"documents":["ax","ba","zz"]');
    expect(said).toContain('"ranked":[{"index":1,"score":1}');
  });

  test("names the fields that are not acted on", async () => {
    const sent = { ...body, max_chunks_per_doc: 10, priority: 0, user: "me", truncation: true };
    const response = await reranking().post(path, sent);
    expect(response.headers.get("x-paddock-ignored")).toBe("max_chunks_per_doc, priority");
  });
});
