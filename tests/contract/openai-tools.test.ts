import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI, { BadRequestError } from "openai";
import { LengthFinishReasonError } from "openai/error";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { nodesForClients } from "../support/front-node.ts";
import { rejectionOf } from "../support/rejection.ts";
import type { TinyNode, tinyNode } from "../support/tiny-node.ts";

let node: TinyNode;
let client: OpenAI;

function connect(start: typeof tinyNode): void {
  beforeAll(async () => {
    node = await start();
    client = new OpenAI({ baseURL: node.baseUrl, apiKey: "any" });
  });
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
  });
}

/** No white space between JSON's parts: a line break, a space as a word's beginning and as a byte. */
const compact = { 13: -100, 353: -100, 35: -100 };
const question = {
  model: "tiny-chat",
  messages: [{ role: "user", content: "Light?" }],
  logit_bias: compact,
} satisfies OpenAI.ChatCompletionCreateParamsNonStreaming;

/** Whatever the weights, the arguments are one of these. */
const Lamp = z.object({ room: z.enum(["attic", "cellar"]), level: z.int().min(1).max(9) });

const lightTool = {
  type: "function",
  function: {
    name: "light",
    parameters: {
      type: "object",
      properties: { room: { enum: ["attic"] }, level: { type: "integer", minimum: 1, maximum: 9 } },
      required: ["room", "level"],
      additionalProperties: false,
    },
  },
} satisfies OpenAI.ChatCompletionFunctionTool;

/** Arguments that `lightTool` allows. */
const lit = /^\{"room":"attic","level":[1-9]\}$/;

describe.each(nodesForClients)("the openai package's tools against %s", (_, start) => {
  connect(start);

  test("gets a call of the function that it names, whose arguments fit its schema", async () => {
    const { choices } = await client.chat.completions.create({
      ...question,
      tools: [lightTool, { type: "function", function: { name: "dark" } }],
      tool_choice: { type: "function", function: { name: "light" } },
    });
    expect(choices).toEqual([
      {
        index: 0,
        finish_reason: "tool_calls",
        logprobs: null,
        message: expect.objectContaining({
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: expect.stringMatching(/^call_/),
              type: "function",
              function: { name: "light", arguments: expect.stringMatching(lit) },
            },
          ],
        }),
      },
    ]);
  });

  test("calls no tool when the choice is none", async () => {
    const { choices } = await client.chat.completions.create({
      ...question,
      tools: [lightTool],
      tool_choice: "none",
      max_tokens: 8,
    });
    expect(choices[0]?.message.tool_calls).toBeUndefined();
    expect(choices[0]?.finish_reason).toBeOneOf(["stop", "length"]);
  });

  test("accumulates a streamed call with its own helper, from growing arguments", async () => {
    const stream = client.chat.completions.stream({
      ...question,
      tools: [lightTool],
      tool_choice: "required",
    });
    const grown: string[] = [];
    stream.on("tool_calls.function.arguments.delta", ({ arguments: text }) => grown.push(text));
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]?.finish_reason).toBe("tool_calls");
    expect(choices[0]?.message.tool_calls).toEqual([
      expect.objectContaining({
        id: expect.stringMatching(/^call_/),
        type: "function",
        function: expect.objectContaining({ name: "light", arguments: grown.at(-1) }),
      }),
    ]);
    expect(grown.at(-1)).toMatch(lit);
    expect(grown.length).toBeGreaterThan(1);
    for (const [at, text] of grown.entries()) expect(text).toStartWith(grown[at - 1] ?? "");
  });

  test("runs the named function with runTools, and returns its result", async () => {
    const asked: unknown[] = [];
    const runner = client.chat.completions.runTools({
      ...question,
      tool_choice: { type: "function", function: { name: "light" } },
      tools: [
        zodFunction({
          name: "light",
          parameters: Lamp,
          function: (lamp) => {
            asked.push(lamp);
            return "lit";
          },
        }),
      ],
    });
    await runner.done();
    expect(asked.map((lamp) => Lamp.parse(lamp))).toHaveLength(1);
    expect(await runner.finalFunctionToolCallResult()).toBe("lit");
  });

  test("sends each result back with runTools, which two completions bound since the choice stays required", async () => {
    let calls = 0;
    const runner = client.chat.completions.runTools(
      {
        ...question,
        stream: true,
        tool_choice: "required",
        tools: [
          zodFunction({ name: "light", parameters: Lamp, function: () => `call ${++calls}` }),
        ],
      },
      { maxChatCompletions: 2 },
    );
    await runner.done();
    expect(runner.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
    ]);
    expect(await runner.finalFunctionToolCallResult()).toBe("call 2");
  });

  test("gets text after a tool's result", async () => {
    const call = { name: "light", arguments: '{"room":"attic","level":3}' };
    const { choices, usage } = await client.chat.completions.create({
      ...question,
      messages: [
        ...question.messages,
        { role: "assistant", tool_calls: [{ id: "call_1", type: "function", function: call }] },
        { role: "tool", tool_call_id: "call_1", content: "lit" },
      ],
      tools: [lightTool],
      max_tokens: 4,
      logit_bias: { 291: 100 }, // "A"
    });
    expect(choices[0]).toMatchObject({ message: { content: "AAAA" }, finish_reason: "length" });
    expect(usage?.completion_tokens).toBe(4);
  });

  test("parses an answer by a zod schema", async () => {
    const { choices } = await client.chat.completions.parse({
      ...question,
      response_format: zodResponseFormat(Lamp, "lamp"),
    });
    expect(Lamp.safeParse(choices[0]?.message.parsed).success).toBe(true);
    expect(choices[0]?.finish_reason).toBe("stop");
  });

  test("parses the arguments of a zod tool", async () => {
    const { choices } = await client.chat.completions.parse({
      ...question,
      tools: [zodFunction({ name: "light", parameters: Lamp })],
      tool_choice: "required",
    });
    const call = choices[0]?.message.tool_calls?.[0];
    if (call?.type !== "function") throw new Error("The answer has no call of a function");
    expect(Lamp.safeParse(call.function.parsed_arguments).success).toBe(true);
  });

  test("learns that an answer to parse was cut short", async () => {
    const cut = client.chat.completions.parse({
      ...question,
      max_tokens: 3,
      response_format: zodResponseFormat(Lamp, "lamp"),
    });
    expect(await rejectionOf(cut)).toBeInstanceOf(LengthFinishReasonError);
  });

  test("learns which keyword of a schema is unusable", async () => {
    const schema = { type: "object", properties: { a: { not: { type: "string" } } } };
    const refused = client.chat.completions.create({
      ...question,
      response_format: { type: "json_schema", json_schema: { name: "odd", schema } },
    });
    expect(await rejectionOf(refused)).toMatchObject({
      constructor: BadRequestError,
      param: expect.stringMatching(/^response_format\.json_schema\.schema/),
      message: expect.stringContaining("not"),
    });
  });
});
