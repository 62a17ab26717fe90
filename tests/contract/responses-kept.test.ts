import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { rejectionOf } from "../support/rejection.ts";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

let node: TinyNode;
let client: OpenAI;

beforeAll(async () => {
  node = await tinyNode();
  client = new OpenAI({ baseURL: node.baseUrl, apiKey: "any" });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** The one answer is "A", as often as there is room for. */
const short = { model: "tiny-chat", max_output_tokens: 4, logit_bias: { 291: 100 } };

const light = {
  type: "function",
  name: "light",
  description: "Lights a lamp",
  strict: true,
  parameters: {
    type: "object",
    properties: { room: { enum: ["attic"] }, level: { type: "integer", minimum: 1, maximum: 9 } },
    required: ["room", "level"],
    additionalProperties: false,
  },
} satisfies OpenAI.Responses.FunctionTool;

describe("the openai package's kept responses against a listening node", () => {
  test("go on from one another, with the prompt before in the cache", async () => {
    const told = { ...short, instructions: "Be brief." };
    const first = await client.responses.create({ ...told, input: "Hello, how are you today?" });
    expect(first).toMatchObject({ store: true, previous_response_id: null });
    const second = await client.responses.create({
      ...told,
      input: "And now?",
      previous_response_id: first.id,
    });
    const [before, after] = [first.usage?.input_tokens ?? 0, second.usage?.input_tokens ?? 0];
    expect(second.previous_response_id).toBe(first.id);
    expect(after).toBeGreaterThan(before);
    expect(second.usage?.input_tokens_details.cached_tokens).toBeGreaterThanOrEqual(before - 2);
    const third = client.responses.stream({
      ...told,
      input: "Again?",
      previous_response_id: second.id,
    });
    const { usage } = await third.finalResponse();
    expect(usage?.input_tokens_details.cached_tokens).toBeGreaterThanOrEqual(after - 2);
  });

  test("take the output of a call that the one before made", async () => {
    const called = await client.responses.create({
      model: "tiny-chat",
      input: "Light?",
      tools: [light],
      tool_choice: "required",
    });
    const [call] = called.output;
    if (call?.type !== "function_call") throw new Error("The response has no call");
    const unanswered = client.responses.create({
      ...short,
      input: "Well?",
      previous_response_id: called.id,
    });
    expect(await rejectionOf(unanswered)).toMatchObject({ status: 400, param: "input[0]" });
    const told = await client.responses.create({
      ...short,
      previous_response_id: called.id,
      input: [{ type: "function_call_output", call_id: call.call_id, output: "lit" }],
    });
    expect(told.output_text).toBe("AAAA");
  });

  test("can be asked for again with what they were asked with, and deleted", async () => {
    const made = await client.responses.create({ ...short, input: "Hello" });
    const { output_text: _text, ...found } = await client.responses.retrieve(made.id);
    const { output_text: _same, ...body } = made;
    expect(found).toEqual(body);
    const { data } = await client.responses.inputItems.list(made.id);
    expect(data).toEqual([
      {
        id: expect.stringMatching(/^msg_/),
        type: "message",
        role: "user",
        status: "completed",
        content: [{ type: "input_text", text: "Hello" }],
      },
    ]);
    await client.responses.delete(made.id);
    expect(await rejectionOf(client.responses.retrieve(made.id))).toMatchObject({ status: 404 });
    const gone = client.responses.create({
      ...short,
      input: "And now?",
      previous_response_id: made.id,
    });
    expect(await rejectionOf(gone)).toMatchObject({ status: 404, param: "previous_response_id" });
  });

  test("are not kept where that is not wanted", async () => {
    const made = await client.responses.create({ ...short, input: "Hello", store: false });
    expect(made).toMatchObject({ store: false });
    expect(await rejectionOf(client.responses.retrieve(made.id))).toMatchObject({ status: 404 });
  });

  test("can be referred to by their items", async () => {
    const made = await client.responses.create({ ...short, input: "Hello" });
    const [message] = made.output;
    const next = await client.responses.create({
      ...short,
      input: [
        { role: "user", content: "Hello" },
        { type: "item_reference", id: message?.id ?? "" },
        { role: "user", content: "And now?" },
      ],
    });
    expect(next.usage?.input_tokens).toBeGreaterThan((made.usage?.input_tokens ?? 0) + 4);
    const nobodys = client.responses.create({
      ...short,
      input: [
        { role: "user", content: "Hello" },
        { type: "item_reference", id: "msg_1" },
      ],
    });
    expect(await rejectionOf(nobodys)).toMatchObject({ status: 400, param: "input[1]" });
  });

  test("are made in the background, waited for, and gone on from", async () => {
    const queued = await client.responses.create({ ...short, input: "Hello", background: true });
    expect(queued).toMatchObject({ status: "queued", background: true, output: [] });
    await waitFor("the response to be made", async () => {
      const { status } = await client.responses.retrieve(queued.id);
      return status !== "queued" && status !== "in_progress";
    });
    const made = await client.responses.retrieve(queued.id);
    expect(made).toMatchObject({ id: queued.id, status: "incomplete", output_text: "AAAA" });
    const next = await client.responses.create({
      ...short,
      input: "And now?",
      previous_response_id: made.id,
    });
    expect(next.output_text).toBe("AAAA");
  });
});
