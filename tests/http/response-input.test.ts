import { describe, expect, test } from "bun:test";
import { ResponseObject } from "../../src/server/operations/responses/schema.ts";
import { decode, decodeError } from "../support/decode.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";

const path = "/v1/responses";
const counting = `${path}/input_tokens`;
const body = { model: "chatty", input: "How much is this?" };

describe("counting a response's input", () => {
  test("counts the instructions and the conversation, and generates nothing", async () => {
    const app = testApp();
    const response = await app.post(counting, { ...body, instructions: "Be brief." });
    expect([response.status, await response.json()]).toEqual([
      200,
      { object: "response.input_tokens", input_tokens: 6 },
    ]);
    expect(app.chat.requests).toEqual([]);
  });

  test("counts the conversation that it goes on from", async () => {
    const app = testApp();
    app.chat.script({ type: "text", text: "Two words" }, finish);
    const { id } = await decode(ResponseObject, await app.post(path, body));
    const response = await app.post(counting, { ...body, previous_response_id: id });
    expect(await response.json()).toMatchObject({ input_tokens: 4 + 2 + 4 });
  });

  test("refuses what is more than the context, by this API's name", async () => {
    const app = testApp();
    app.chat.countTokens = async () => Number.POSITIVE_INFINITY;
    const response = await app.post(counting, body);
    expect(response.status).toBe(400);
    expect(await decodeError(response)).toMatchObject({
      code: "context_length_exceeded",
      param: "input",
    });
  });

  test("wants a model that is there, and a key", async () => {
    expect((await testApp().post(counting, { ...body, model: "nobody" })).status).toBe(404);
    expect((await testApp({ keys: ["a-key"] }).post(counting, body)).status).toBe(401);
  });
});

test.each([path, counting])(
  "%s names a prompt that is stored elsewhere as not done",
  async (at) => {
    const response = await testApp().post(at, { model: "chatty", prompt: { id: "pmpt_1" } });
    expect(response.status).toBe(400);
    expect(await decodeError(response)).toMatchObject({
      param: "prompt",
      message: expect.stringContaining("'prompt' cannot be honoured"),
    });
  },
);

test.each([path, counting])("%s wants an input", async (at) => {
  const response = await testApp().post(at, { model: "chatty" });
  expect(response.status).toBe(400);
  expect(await decodeError(response)).toMatchObject({
    param: "input",
    message: "'input' is required: a text or a list of items.",
  });
});
