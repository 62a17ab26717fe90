import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { EmbeddingList } from "../../src/server/operations/embeddings.ts";
import { untilAborted } from "../support/aborted.ts";
import { decodeError } from "../support/decode.ts";
import { type TestApp, testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const path = "/v1/embeddings";
const body = { model: "vectors", input: ["three", "a b"] };
/** As on a node without a limit of its own. */
const maxBodyBytes = 16 * 1024 * 1024;

const embed = async (sent: unknown): Promise<EmbeddingList> => {
  const response = await testApp().post(path, sent);
  expect(response.status).toBe(200);
  return Value.Decode(EmbeddingList, await response.json());
};

/** The scripted engine's vector for a text of this length. */
const vector = (length: number): Float32Array =>
  Float32Array.of(length / Math.hypot(length, 1), 1 / Math.hypot(length, 1));

describe("embeddings", () => {
  test("have every field of the specification, in the order of the input", async () => {
    expect(await embed(body)).toEqual({
      object: "list",
      data: [
        { index: 0, object: "embedding", embedding: [...vector(5)] },
        { index: 1, object: "embedding", embedding: [...vector(3)] },
      ],
      model: "vectors",
      usage: { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 },
    });
  });

  test("are made of a single string too", async () => {
    const { data } = await embed({ ...body, input: "three" });
    expect(data).toEqual([{ index: 0, object: "embedding", embedding: [...vector(5)] }]);
  });

  test("are numbers when asked for as float", async () => {
    expect(await embed({ ...body, encoding_format: "float" })).toEqual(await embed(body));
  });

  test("are little-endian 32-bit floats when asked for as base64", async () => {
    const { data, usage } = await embed({ ...body, encoding_format: "base64" });
    const decoded = data.map(({ embedding }) => {
      const bytes = Buffer.from(String(embedding), "base64");
      return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
    });
    expect(decoded).toEqual([[...vector(5)], [...vector(3)]]);
    expect(usage).toEqual({ prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 });
  });

  test("are numbers where the format is null", async () => {
    expect(await embed({ ...body, encoding_format: null })).toEqual(await embed(body));
  });

  test("are rejected before anything is computed where all vectors would be too large", async () => {
    const app = testApp({ maxBodyBytes });
    app.embedding.dimension = 4_194_304;
    const input = ["a", "b", "c", "d", "e"];
    const response = await app.post(path, { ...body, input });
    expect([response.status, await decodeError(response)]).toMatchObject([
      400,
      { param: "input", message: expect.stringContaining("Send at most 4 texts.") },
    ]);
    expect((await app.post("/api/embed", { model: "vectors", input })).status).toBe(400);
    expect(app.embedding.requests).toBeEmpty();
    expect((await app.post(path, { ...body, input: input.slice(1) })).status).toBe(200);
  });

  test("may be 2,048 of 4,096 numbers, unless a node takes only small bodies", async () => {
    const sent = { ...body, input: Array.from({ length: 2048 }, () => "a") };
    const ask = async (app: TestApp) => {
      app.embedding.dimension = 4096;
      return await app.post(path, sent);
    };
    expect((await ask(testApp({ maxBodyBytes }))).status).toBe(200);
    const refused = await ask(testApp({ maxBodyBytes: 100_000 }));
    expect([refused.status, await refused.text()]).toEqual([
      413,
      expect.stringContaining("limits.max_body_bytes"),
    ]);
  });

  test("take memory until they are answered, and one caller not all of it", async () => {
    const app = testApp({ keys: ["first", "second"], maxBodyBytes: 1_000_000 });
    // A tenth of what the bodies of all requests may take.
    app.embedding.dimension = 400_000;
    const line = Promise.withResolvers<void>();
    app.embedding.line = () => line.promise;
    const sent = { ...body, input: ["a", "b"] };
    const send = (key: string) => app.post(path, sent, { authorization: `Bearer ${key}` });
    const answers: Response[] = [];
    const asked = Array.from({ length: 6 }, async () => answers.push(await send("first")));
    await waitFor("one to be refused", () => answers.length > 0);
    expect(answers.map(({ status }) => status)).toEqual([503]);
    const other = send("second");
    line.resolve();
    await Promise.all(asked);
    expect((await other).status).toBe(200);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect((await send("first")).status).toBe(200);
  });

  test("are made of the tokens of one text, or of several", async () => {
    const app = testApp();
    const answers = [];
    for (const input of [
      [7, 8, 9],
      [[7, 8, 9], [99]],
    ]) {
      const response = await app.post(path, { ...body, input });
      answers.push(Value.Decode(EmbeddingList, await response.json()));
    }
    const entry = (index: number, length: number) => ({
      index,
      object: "embedding",
      embedding: [...vector(length)],
    });
    expect<unknown>(
      answers.map(({ data, usage }) => ({ data, tokens: usage.prompt_tokens })),
    ).toEqual([
      { data: [entry(0, 3)], tokens: 3 },
      { data: [entry(0, 3), entry(1, 1)], tokens: 4 },
    ]);
    expect(app.embedding.requests).toEqual([[7, 8, 9], [7, 8, 9], [99]]);
  });

  test("are cut to fewer dimensions, and of unit length again", async () => {
    const { data } = await embed({ ...body, dimensions: 1 });
    expect(data.map(({ embedding }) => embedding)).toEqual([[1], [1]]);
    const whole = await embed({ ...body, dimensions: 2 });
    expect(whole).toEqual(await embed({ ...body, dimensions: null }));
  });

  test("are cut before they are written as base64", async () => {
    const { data } = await embed({ ...body, dimensions: 1, encoding_format: "base64" });
    const one = Buffer.from(Float32Array.of(1).buffer).toString("base64");
    expect(data.map(({ embedding }) => embedding)).toEqual([one, one]);
  });

  test("do not depend on the user", async () => {
    expect(await embed({ ...body, user: "somebody" })).toEqual(await embed(body));
  });

  test("are made of 2,048 texts at once, and of fields that the node does not know", async () => {
    const input = Array.from({ length: 2048 }, (_, index) => "x".repeat(1 + (index % 7)));
    const { data } = await embed({ ...body, input, user: "somebody" });
    expect(data.map(({ index }) => index)).toEqual(input.map((_, index) => index));
    expect(data.map(({ embedding }) => embedding)).toEqual(
      input.map(({ length }) => [...vector(length)]),
    );
  });
});

describe("an embedding request that cannot be answered", () => {
  test.each([
    [{ input: ["a"] }, "model", null, "'model' is required: a string that is not empty."],
    [{ model: "vectors" }, "input", null, /^'input' is required: a string or a list of strings/],
    [
      { ...body, input: [] },
      "input",
      null,
      /^'input' must be a list of at least 1; found a list of 0/,
    ],
    [
      { ...body, input: Array(2049).fill("a") },
      "input",
      null,
      /is a list of 2049; this node takes/,
    ],
    [{ ...body, input: 7 }, "input", null, /^'input' must be a string or a list/],
    [{ ...body, input: ["a", 7] }, "input[1]", null, "'input[1]' must be a string; found 7."],
    [{ ...body, input: ["a", ""] }, "input[1]", null, /^input\[1\] is an empty string/],
    [{ ...body, encoding_format: "hex" }, "encoding_format", null, /'float' or 'base64'/],
    [{ ...body, input: [1, 100] }, "input", null, /^input holds the token 100;.*0 to 99\.$/],
    [{ ...body, input: [[1], [2, 100]] }, "input[1]", null, /^input\[1\] holds the token 100;/],
    [{ ...body, input: [[1], []] }, "input[1]", null, /./],
    [{ ...body, input: [1, -1] }, "input[1]", null, /at least 0/],
    [{ ...body, input: [1, 1.5] }, "input[1]", null, /an integer/],
    [{ ...body, dimensions: 3 }, "dimensions", null, /^'dimensions' is 3;.*'vectors' have 2\.$/],
    [{ ...body, dimensions: 0 }, "dimensions", null, /at least 1/],
    [
      { ...body, input: [1, 2, 3, 4, 5, 6, 7, 8, 9] },
      "input",
      "context_length_exceeded",
      /^input has 9 tokens/,
    ],
    [
      { ...body, input: ["a", "b", "1 2 3 4 5 6 7 8 9"] },
      "input[2]",
      "context_length_exceeded",
      /^input\[2\] has 9 tokens/,
    ],
  ])("names the item: %j", async (sent, param, code, message) => {
    const app = testApp();
    const response = await app.post(path, sent);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: typeof message === "string" ? message : expect.stringMatching(message),
        type: "invalid_request_error",
        param,
        code,
      },
    });
    expect(app.embedding.requests).toEqual([]);
  });

  test("names an empty string as the caller wrote it", async () => {
    const response = await testApp().post(path, { ...body, input: "" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "input" } });
  });

  test.each([
    ["nobody", "The model 'nobody' is not on this node."],
    ["chatty", "The model 'chatty' is a model of type 'chat'."],
  ])("is a 500 model_not_found for the model '%s'", async (model, why) => {
    const response = await testApp().post(path, { ...body, model });
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      error: {
        message: `${why} The embedding models of this node are: vectors, others.`,
        type: "invalid_request_error",
        param: "model",
        code: "model_not_found",
      },
    });
  });

  test("is a 503 while the model is not ready", async () => {
    const response = await testApp({ unprepared: true }).post(path, body);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: "model_not_ready" } });
  });
});

test("fields of an embedding request that are not acted on are named", async () => {
  const response = await testApp().post("/v1/embeddings", {
    model: "vectors",
    input: "a",
    user: "me",
    inputs: "b",
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("x-paddock-ignored")).toBe("inputs");
});

test.each([
  ["/v1/embeddings", { model: "vectors", input: "a" }],
  ["/v1/retrieve", { model: "vectors", messages: [{ role: "user", content: "a" }] }],
])("%s is a 504 when the model takes longer than a request may", async (path, body) => {
  const app = testApp({ requestTimeoutMs: 5 });
  app.embedding.embed = (_, { signal } = {}) => untilAborted(signal);
  const response = await app.post(path, body);
  expect([response.status, (await decodeError(response)).code]).toEqual([504, "request_timeout"]);
});

test.each([
  ["/v1/embeddings", { model: "vectors", input: "a" }],
  ["/v1/retrieve", { model: "vectors", messages: [{ role: "user", content: "a" }] }],
  ["/api/embed", { model: "vectors", input: "a" }],
])(
  "%s tells the model whose texts they are, so that callers are served in turn",
  async (path, body) => {
    const app = testApp({ keys: ["a-good-key", "another-key"] });
    for (const key of ["a-good-key", "another-key"]) {
      await app.post(path, body, { authorization: `Bearer ${key}` });
    }
    expect(new Set(app.embedding.callers).size).toBe(2);
    expect(app.embedding.callers).not.toContain(undefined);
  },
);
