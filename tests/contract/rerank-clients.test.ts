/** Clients that people rerank with, and requests as the documentation of Jina, vLLM and llama-server has them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createCohere } from "@ai-sdk/cohere";
import { rerank } from "ai";
import { CohereClient, CohereClientV2, CohereError } from "cohere-ai";
import { RerankResult } from "../../src/server/operations/rerank.ts";
import { decode, decodeError } from "../support/decode.ts";
import { rejectionOf } from "../support/rejection.ts";
import { tinyEmbeddingContext, tinyModels } from "../support/tiny-models.ts";
import {
  listeningNode,
  type TinyNode,
  tinyConfig,
  tinyRerankerSection,
} from "../support/tiny-node.ts";

const key = "a-key-for-rerankers";
const model = "tiny-reranker";
const query = "which of them fits?";
const documents = ["abc", "something else", "a", "zz top", "which of them"];

let node: TinyNode;
/** A node whose reranking model runs on the other one. */
let front: TinyNode;

beforeAll(async () => {
  const models = (await tinyConfig()) + (await tinyRerankerSection());
  node = await listeningNode(`[retrieval]\nreranker = "${model}"\n${models}`, {
    PADDOCK_API_KEYS: key,
  });
  front = await listeningNode(
    `[vectorstore]
handbook = false
[[models]]
name = "${model}"
type = "reranker"
source = "openai:${node.baseUrl}"
api_key_env = "FAR_KEY"
`,
    { FAR_KEY: key },
  );
});
afterAll(async () => {
  await front[Symbol.asyncDispose]();
  await node[Symbol.asyncDispose]();
});

const origin = (): string => new URL(node.baseUrl).origin;

const post = (body: object, at = node): Promise<Response> =>
  fetch(`${at.baseUrl}/rerank`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });

/** What all of them must find: by the model itself, document by document. */
async function expected(): Promise<{ index: number; score: number }[]> {
  const scores = [];
  for (const [index, document] of documents.entries()) {
    const { results } = await decode(
      RerankResult,
      await post({ model, query, documents: [document] }),
    );
    scores.push({ index, score: results[0]?.relevance_score ?? -1 });
  }
  return scores.sort((a, b) => b.score - a.score);
}

const rounded = (found: readonly { index: number; score: number }[]) =>
  found.map(({ index, score }) => [index, score.toFixed(4)]);

describe("cohere-ai against a listening node", () => {
  const client = () => new CohereClientV2({ token: key, environment: origin() });

  test("ranks by its second API", async () => {
    const { results, id } = await client().rerank({ model, query, documents });
    expect(id).toStartWith("rerank-");
    const found = results.map(({ index, relevanceScore }) => ({ index, score: relevanceScore }));
    expect(rounded(found)).toEqual(rounded(await expected()));
    expect(found.every(({ score }) => score >= 0 && score <= 1)).toBe(true);
  });

  test("has its parameters honoured", async () => {
    const { results } = await client().rerank({
      model,
      query,
      documents,
      topN: 2,
      maxTokensPerDoc: 1,
    });
    expect(results).toHaveLength(2);
  });

  test("ranks by its first API, with documents in the answer", async () => {
    const first = new CohereClient({ token: key, environment: origin() });
    const { results } = await first.rerank({ model, query, documents, returnDocuments: true });
    const [best] = await expected();
    expect(results[0]).toMatchObject({
      index: best?.index ?? -1,
      document: { text: documents[best?.index ?? -1] ?? "" },
    });
  });

  test("is told what is wrong", async () => {
    const error = await rejectionOf(
      client().rerank({ model: "nobody", query, documents }, { maxRetries: 0 }),
    );
    expect(error).toBeInstanceOf(CohereError);
    expect(error).toMatchObject({
      statusCode: 404,
      body: { message: expect.stringContaining("The model 'nobody' is not on this node.") },
    });
  });
});

test("the AI SDK ranks, by its provider for Cohere, and is told what is wrong", async () => {
  const cohere = createCohere({ baseURL: `${origin()}/v2`, apiKey: key });
  const asked = { query, documents, topN: 3, maxRetries: 0 };
  const { ranking } = await rerank({ model: cohere.reranking(model), ...asked });
  expect(rounded(ranking.map(({ originalIndex: index, score }) => ({ index, score })))).toEqual(
    rounded((await expected()).slice(0, 3)),
  );
  const refused = rerank({ model: cohere.reranking("nobody"), ...asked });
  expect(await rejectionOf(refused)).toMatchObject({
    message: expect.stringContaining("The model 'nobody' is not on this node."),
  });
});

describe("requests as they are documented", () => {
  test("by Jina, whose answers have documents, a model and a count of tokens", async () => {
    const response = await post({ model, query, top_n: 3, documents, return_documents: true });
    const { results, usage, model: said } = await decode(RerankResult, response);
    expect(results).toHaveLength(3);
    expect(results.map(({ document }) => document?.text)).toEqual(
      results.map(({ index }) => documents[index]),
    );
    expect([said, usage.total_tokens > documents.length * 10]).toEqual([model, true]);
  });

  test("by vLLM, which repeats documents without being asked", async () => {
    const response = await post({ model, query, documents, truncate_prompt_tokens: -1 });
    const { id, results } = await decode(RerankResult, response);
    expect(id).toStartWith("rerank-");
    expect(results.every(({ document }) => document !== undefined)).toBe(true);
  });

  test("by llama-server, whose answers are lists", async () => {
    const response = await post({ model, query, top_n: 3, documents, return_documents: false });
    const { object, results, usage } = await decode(RerankResult, response);
    expect([object, usage.prompt_tokens]).toEqual(["list", usage.total_tokens]);
    expect(results.map((result) => Object.keys(result))).toEqual(
      Array(3).fill(["index", "relevance_score"]),
    );
  });
});

describe("a reranking model", () => {
  test("that runs on another node ranks the same, and its tokens are counted there", async () => {
    const asked = { model, query, documents };
    const here = await decode(RerankResult, await post(asked));
    const there = await decode(RerankResult, await post(asked, front));
    expect(there.results).toEqual(here.results);
    expect(there.usage).toEqual(here.usage);
  });

  test("reads a long document in parts; its query must leave room", async () => {
    const long = await post({ model, query, documents: ["many words ".repeat(200)] });
    const { usage } = await decode(RerankResult, long);
    expect(usage.total_tokens).toBeGreaterThan(2000);
    const refused = await post({ model, query: "many words ".repeat(200), documents });
    expect([refused.status, await decodeError(refused)]).toMatchObject([
      400,
      { param: "query", code: "context_length_exceeded" },
    ]);
  });

  test("reads no more of a request than it may", async () => {
    const documents = Array.from({ length: 50 }, () => "many words ".repeat(20_000));
    const refused = await post({ model, query, documents });
    const { param, code } = await decodeError(refused);
    expect([refused.status, code]).toEqual([400, "context_length_exceeded"]);
    expect(param).toMatch(/^documents\[\d+\]$/);
    const cut = await post({ model, query, documents, max_tokens_per_doc: 4 });
    expect(cut.status).toBe(200);
  });

  test("judges what searches find, too", async () => {
    const response = await fetch(`${node.baseUrl}/retrieve`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({
        model: "tiny-embedding",
        messages: [{ role: "user", content: query }],
      }),
    });
    expect(response.headers.get("x-paddock-retrieval")).toBe("hybrid, reranked");
  });

  test("that is given by its source alone is one of the models all the same", async () => {
    const { reranker: source, embedding } = await tinyModels();
    const text = (value: string) => JSON.stringify(value);
    await using short = await listeningNode(
      `[retrieval]\nreranker = ${text(source)}\n[vectorstore]\nhandbook = false\n[[models]]\nname = "e"\ntype = "embedding"\nsource = ${text(embedding)}\n`,
    );
    const answer = await decode(
      RerankResult,
      await post({ model: "reranker", query, documents }, short),
    );
    const same = await decode(RerankResult, await post({ model, query, documents }));
    expect(answer.results).toEqual(same.results);
  });

  test("is among the models, with its type and what it reads at once", async () => {
    const list = await (await fetch(`${node.baseUrl}/models`)).json();
    expect(list).toMatchObject({
      data: [{ id: "tiny-chat" }, { id: "tiny-embedding" }, { id: model }],
    });
    const info = await (await fetch(`${node.baseUrl}/info`)).json();
    expect(Object(info).models[2]).toMatchObject({
      name: model,
      type: "reranker",
      ctx_size: tinyEmbeddingContext,
    });
  });
});
