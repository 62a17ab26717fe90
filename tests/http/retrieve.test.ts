import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { passage } from "../support/passages.ts";
import { type TestApp, testApp } from "../support/test-app.ts";

const path = "/v1/retrieve";
const user = { role: "user", content: "q" };
const body = { model: "vectors", messages: [user] };

/** An app whose passages score 1, 0.95 … against the query "q", down to less than the threshold. */
async function filledApp(): Promise<TestApp> {
  const app = testApp();
  const sources = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"];
  const embeddings = await app.embedding.embed(sources);
  const passages = sources.map((source, index) =>
    passage(index, [...(embeddings[index]?.vector ?? [])], { document: "letters", source }),
  );
  const opposite = passage(99, [-1, 0], { document: "letters", source: "opposite" });
  await app.repository.upsert([...passages.toReversed(), opposite]);
  app.embedding.requests.length = 0;
  return app;
}

async function retrieve(sent: unknown): Promise<RetrieveResult> {
  const app = await filledApp();
  const response = await app.post(path, sent);
  expect(response.status).toBe(200);
  return Value.Decode(RetrieveResult, await response.json());
}

const score = (length: number): number => (length + 1) / (Math.SQRT2 * Math.hypot(length, 1));

describe("retrieval", () => {
  test("answers with the specification's fields, best point first", async () => {
    expect(await retrieve(body)).toEqual({
      points: ["a", "bb", "ccc", "dddd", "eeeee"].map((source) => ({
        source,
        score: expect.closeTo(score(source.length), 5),
      })),
      limit: 5,
      score_threshold: 0.4,
    });
  });

  test("matches the last user message, its text parts joined", async () => {
    const app = await filledApp();
    const parts = ["la", "st"].map((text) => ({ type: "text", text }));
    const messages = [
      { role: "system", content: "system" },
      { role: "user", content: "first" },
      { role: "assistant", content: "answer" },
      { role: "user", content: parts },
    ];
    expect((await app.post(path, { ...body, messages })).status).toBe(200);
    expect(app.embedding.requests).toEqual(["last"]);
  });

  test.each([
    [{ limit: 2 }, { limit: 2, score_threshold: 0.4 }, ["a", "bb"]],
    [{ score_threshold: 0.9 }, { limit: 5, score_threshold: 0.9 }, ["a", "bb"]],
    [
      { limit: 50, score_threshold: -1 },
      { limit: 5, score_threshold: 0.4 },
      ["a", "bb", "ccc", "dddd", "eeeee"],
    ],
  ])("may be narrowed by the request, never widened: %j", async (narrower, applied, sources) => {
    const { points, ...bounds } = await retrieve({ ...body, ...narrower });
    expect(bounds).toEqual(applied);
    expect(points.map(({ source }) => source)).toEqual(sources);
  });

  test("says where each passage comes from only where that is asked for", async () => {
    const { points } = await retrieve({ ...body, limit: 1, include_metadata: true });
    expect(points).toEqual([
      {
        source: "a",
        score: expect.any(Number),
        metadata: {
          id: "00000000-0000-4000-8000-000000000000",
          document: "letters",
          heading: "Heading",
          position: 0,
          file_id: expect.stringMatching(/^file-doc-[0-9a-f]{24}$/),
          vector_store_id: "vs_default",
        },
      },
    ]);
    const plain = await retrieve({ ...body, limit: 1, include_metadata: false });
    expect(plain.points).toEqual([{ source: "a", score: expect.any(Number) }]);
  });

  test("says in a header how the passages were found", async () => {
    const dense = await testApp().post(path, body);
    expect(dense.headers.get("x-paddock-retrieval")).toBe("dense");
    const hybrid = await testApp({ retrieval: { mode: "hybrid" } }).post(path, body);
    expect(hybrid.headers.get("x-paddock-retrieval")).toBe("hybrid");
  });

  test("says in a header that passages are still coming, as long as they are", async () => {
    const app = testApp();
    app.retrieval.coming.expect("Passages are still coming.");
    const early = await app.post(path, body);
    expect([early.status, early.headers.get("x-paddock-notice")]).toEqual([
      200,
      "Passages are still coming.",
    ]);
    app.retrieval.coming.expect(undefined);
    expect((await app.post(path, body)).headers.get("x-paddock-notice")).toBeNull();
  });

  test("returns no point where none is good enough", async () => {
    const result = await retrieve({
      ...body,
      score_threshold: 1,
      messages: [{ ...user, content: "long enough" }],
    });
    expect(result).toEqual({ points: [], limit: 5, score_threshold: 1 });
  });

  test("answers from an empty collection", async () => {
    const response = await testApp().post(path, body);
    expect(await response.json()).toEqual({ points: [], limit: 5, score_threshold: 0.4 });
  });
});

describe("a retrieval request that cannot be answered", () => {
  test.each([
    [{ messages: [user] }, "model", null],
    [{ model: "vectors" }, "messages", null],
    [{ ...body, messages: [] }, "messages", null],
    [{ ...body, messages: [{ role: "system", content: "x" }] }, "messages", null],
    [{ ...body, messages: [user, { role: "user", content: "" }] }, "messages[1].content", null],
    [{ ...body, limit: 0 }, "limit", null],
    [{ ...body, limit: 1.5 }, "limit", null],
    [{ ...body, include_metadata: "yes" }, "include_metadata", null],
    [{ ...body, score_threshold: 1.1 }, "score_threshold", null],
    [{ ...body, model: "others" }, "model", null],
    [
      { ...body, messages: [{ role: "user", content: "1 2 3 4 5 6 7 8 9" }] },
      "messages[0].content",
      "context_length_exceeded",
    ],
  ])("names the field: %j", async (sent, param, code) => {
    const response = await testApp().post(path, sent);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: { message: expect.any(String), type: "invalid_request_error", param, code },
    });
  });

  test.each(["nobody", "chatty"])("is a 500 model_not_found for '%s'", async (model) => {
    const response = await testApp().post(path, { ...body, model });
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      error: {
        code: "model_not_found",
        param: "model",
        message: expect.stringContaining("vectors"),
      },
    });
  });

  test("is a 503 while the model is not ready", async () => {
    const response = await testApp({ unprepared: true }).post(path, body);
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("2");
  });
});

test("fields of a retrieval request that are not acted on are named", async () => {
  const response = await testApp().post("/v1/retrieve", {
    model: "vectors",
    messages: [{ role: "user", content: "a" }],
    score_treshold: 0.9,
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("x-paddock-ignored")).toBe("score_treshold");
});
