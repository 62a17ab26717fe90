import { describe, expect, test } from "bun:test";
import { DetokenizeResult, TokenizeResult } from "../../src/server/operations/tokenize.ts";
import { decode, decodeError } from "../support/decode.ts";
import { testApp } from "../support/test-app.ts";

describe("tokenising over HTTP", () => {
  test("gives the tokens of a text, and the text of tokens", async () => {
    const app = testApp();
    const body = { model: "chatty", prompt: "Hi" };
    const tokenized = await decode(TokenizeResult, await app.post("/v1/tokenize", body));
    expect(tokenized).toEqual({
      count: 2,
      max_model_len: 128,
      tokens: [72, 105],
      token_strs: null,
    });
    const back = await app.post("/v1/detokenize", { model: "chatty", tokens: tokenized.tokens });
    expect(await decode(DetokenizeResult, back)).toEqual({ prompt: "Hi", content: "Hi" });
    expect(app.chat.tokenized).toEqual([
      { text: "Hi", addSpecial: true, parseSpecial: true },
      [72, 105],
    ]);
    expect(app.chat.completions).toEqual([]);
  });

  test("needs a key that opens chat", async () => {
    const app = testApp({ keys: ["secret"] });
    for (const path of ["/v1/tokenize", "/v1/detokenize"]) {
      expect((await app.post(path, { model: "chatty", prompt: "a", tokens: [1] })).status).toBe(
        401,
      );
    }
  });

  test("names what it does not act on in messages and tools, as a chat does", async () => {
    const response = await testApp().post("/v1/tokenize", {
      model: "chatty",
      messages: [{ role: "user", content: "Hi", mood: "good", refusal: null }],
      tools: [{ type: "function", function: { name: "look_up", colour: "red" } }],
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-paddock-ignored")).toBe(
      "messages[0].mood, tools[0].function.colour",
    );
  });

  test("refuses a text of many times the context by its own name", async () => {
    const app = testApp();
    for (const field of ["prompt", "content"]) {
      const body = { model: "chatty", [field]: "a".repeat(513) };
      const response = await app.post("/v1/tokenize", body);
      expect(response.status).toBe(400);
      expect(await decodeError(response)).toMatchObject({
        param: field,
        code: "context_length_exceeded",
      });
    }
  });

  test("refuses a model whose upstream server does not tell its tokens, with what to do", async () => {
    const response = await testApp().post("/v1/tokenize", { model: "vectors", prompt: "a" });
    expect(response.status).toBe(400);
    expect(await decodeError(response)).toMatchObject({
      param: "model",
      message: expect.stringContaining("runs upstream"),
    });
  });

  test("refuses a reranking model with the chat and embedding models that there are", async () => {
    const app = testApp({ reranks: true });
    for (const path of ["/v1/tokenize", "/v1/detokenize"]) {
      const response = await app.post(path, { model: "judge", prompt: "a", tokens: [1] });
      expect(response.status).toBe(404);
      expect(await decodeError(response)).toMatchObject({
        code: "model_not_found",
        param: "model",
        message:
          "The model 'judge' is a model of type 'reranker'. The chat and embedding models of this node are: chatty, vectors, others.",
      });
    }
  });

  test.each([
    ["/v1/tokenize", { model: "nobody", prompt: "a" }, 404, "model"],
    ["/v1/detokenize", { model: "nobody", tokens: [1] }, 404, "model"],
    ["/v1/tokenize", { model: "chatty" }, 400, "prompt"],
    ["/v1/tokenize", { model: "chatty", prompt: 5 }, 400, "prompt"],
    ["/v1/tokenize", { model: "chatty", messages: [] }, 400, "messages"],
    ["/v1/detokenize", { model: "chatty" }, 400, "tokens"],
    ["/v1/detokenize", { model: "chatty", tokens: [-1] }, 400, "tokens[0]"],
    ["/v1/detokenize", { model: "chatty", tokens: "a" }, 400, "tokens"],
  ])("refuses %s %j", async (path, body, status, param) => {
    const response = await testApp().post(path, body);
    expect(response.status).toBe(status);
    expect(await decodeError(response)).toMatchObject({ param });
  });
});
