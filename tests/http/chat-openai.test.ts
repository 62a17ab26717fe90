import { describe, expect, test } from "bun:test";
import { NodeError } from "../../src/core/errors.ts";
import type { GenerationEvent, TokenLogprobs } from "../../src/core/ports/chat-engine.ts";
import { ChatCompletion, ChatCompletionChunk } from "../../src/server/operations/chat/schema.ts";
import { decode, decodeError } from "../support/decode.ts";
import { finish } from "../support/scripted-engines.ts";
import { readFrames } from "../support/sse.ts";
import { type TestApp, testApp } from "../support/test-app.ts";

const path = "/v1/chat/completions";
const user = { role: "user", content: "Hello" } as const;
const body = { model: "chatty", messages: [user] };
const text = (value: string, logprobs?: readonly TokenLogprobs[]): GenerationEvent => ({
  type: "text",
  text: value,
  ...(logprobs === undefined ? {} : { logprobs }),
});
const usage = (completion: number, cached: number, reasoning = 0) => ({
  prompt_tokens: 3,
  completion_tokens: completion,
  total_tokens: 3 + completion,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
});

type Choice = ChatCompletionChunk["choices"][number];
type Delta = Choice["delta"];

const piece = (delta: Delta, rest: Partial<Choice> = {}): Choice => ({
  index: 0,
  delta,
  logprobs: null,
  finish_reason: null,
  ...rest,
});

async function whole(app: TestApp, sent: object = {}): Promise<ChatCompletion> {
  return await decode(ChatCompletion, await app.post(path, { ...body, ...sent }));
}

async function chunks(app: TestApp, sent: object = {}): Promise<ChatCompletionChunk[]> {
  const frames = await readFrames(await app.post(path, { ...body, ...sent, stream: true }));
  expect(frames.at(-1)).toBe("[DONE]");
  return await Promise.all(
    frames.slice(0, -1).map((frame) => decode(ChatCompletionChunk, new Response(frame))),
  );
}

const choicesOf = (sent: readonly ChatCompletionChunk[]): Choice[] =>
  sent.flatMap(({ choices }) => choices);

describe("several choices", () => {
  const scripted = (): TestApp => {
    const app = testApp();
    app.chat.script(text("one"), finish).script(text("two"), text("!"), {
      ...finish,
      reason: "length",
      usage: { promptTokens: 3, cachedTokens: 2, completionTokens: 5, reasoningTokens: 0 },
    });
    return app;
  };

  test("come in one completion, the prompt counted once", async () => {
    const { choices, usage: counted } = await whole(scripted(), { n: 2 });
    expect(choices).toEqual([
      {
        index: 0,
        message: { role: "assistant", content: "one", refusal: null },
        logprobs: null,
        finish_reason: "stop",
      },
      {
        index: 1,
        message: { role: "assistant", content: "two!", refusal: null },
        logprobs: null,
        finish_reason: "length",
      },
    ]);
    expect(counted).toEqual(usage(7, 1));
  });

  test("are streamed side by side under their index, with one usage at the end", async () => {
    const sent = await chunks(scripted(), { n: 2, stream_options: { include_usage: true } });
    const of = (index: number): Choice[] =>
      choicesOf(sent).filter((choice) => choice.index === index);
    expect(of(0)).toEqual([
      piece({ role: "assistant", content: "" }),
      piece({ role: "assistant", content: "one" }),
      piece({}, { finish_reason: "stop" }),
    ]);
    expect(of(1)).toEqual([
      piece({ role: "assistant", content: "" }, { index: 1 }),
      piece({ role: "assistant", content: "two" }, { index: 1 }),
      piece({ role: "assistant", content: "!" }, { index: 1 }),
      piece({}, { index: 1, finish_reason: "length" }),
    ]);
    expect(sent.map(({ usage: counted }) => counted)).toEqual([
      ...Array.from({ length: 7 }, () => null),
      usage(7, 1),
    ]);
  });

  test("end together when one fails, with one error", async () => {
    const app = testApp();
    app.chat.script(new Error("broken")).script(text("fine"), finish);
    expect((await app.post(path, { ...body, n: 2 })).status).toBe(500);
    expect(app.chat.ended).toBe(2);
  });
});

describe("tool calls", () => {
  const called: GenerationEvent[] = [
    { type: "tool-call", index: 0, id: "call_a", name: "weather" },
    { type: "tool-arguments", index: 0, text: '{"city":' },
    { type: "tool-arguments", index: 0, text: '"Rome"}' },
    { type: "tool-call", index: 1, id: "call_b", name: "time" },
    { type: "tool-arguments", index: 1, text: "{}" },
    { ...finish, reason: "tool_calls" },
  ];

  test("are in the message, whose content is null", async () => {
    const app = testApp();
    app.chat.script(...called);
    expect((await whole(app)).choices).toEqual([
      {
        index: 0,
        message: {
          role: "assistant",
          content: null,
          refusal: null,
          tool_calls: [
            {
              id: "call_a",
              type: "function",
              function: { name: "weather", arguments: '{"city":"Rome"}' },
            },
            { id: "call_b", type: "function", function: { name: "time", arguments: "{}" } },
          ],
        },
        logprobs: null,
        finish_reason: "tool_calls",
      },
    ]);
  });

  test("leave the words before them in the content", async () => {
    const app = testApp();
    app.chat.script(text("Let me look."), ...called);
    expect((await whole(app)).choices[0]?.message.content).toBe("Let me look.");
  });

  test("are streamed with id, type and name once, then growing arguments", async () => {
    const app = testApp();
    app.chat.script(...called);
    const opens = (index: number, id: string, name: string): Delta => ({
      role: "assistant",
      tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }],
    });
    const grows = (index: number, more: string): Delta => ({
      tool_calls: [{ index, function: { arguments: more } }],
    });
    const [first, ...rest] = choicesOf(await chunks(app));
    expect(first?.delta.role).toBe("assistant");
    expect(rest).toEqual([
      piece(opens(0, "call_a", "weather")),
      piece(grows(0, '{"city":')),
      piece(grows(0, '"Rome"}')),
      piece(opens(1, "call_b", "time")),
      piece(grows(1, "{}")),
      piece({}, { finish_reason: "tool_calls" }),
    ]);
  });

  test("and their results are passed on as history, with the tools on offer", async () => {
    const app = testApp();
    app.chat.script(finish);
    const parameters = { type: "object", properties: { city: { type: "string" } } };
    await app.post(path, {
      model: "chatty",
      messages: [
        { role: "developer", content: "Be brief." },
        user,
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "call_a", type: "function", function: { name: "weather", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "call_a", content: [{ type: "text", text: "sunny" }] },
      ],
      tools: [
        { type: "function", function: { name: "weather", description: "Looks.", parameters } },
        { type: "function", function: { name: "time", strict: true } },
      ],
      tool_choice: { type: "function", function: { name: "time" } },
      parallel_tool_calls: false,
    });
    expect(app.chat.requests).toMatchObject([
      {
        messages: [
          { role: "system", content: "Be brief." },
          user,
          {
            role: "assistant",
            content: "",
            toolCalls: [{ id: "call_a", name: "weather", arguments: "{}" }],
          },
          { role: "tool", toolCallId: "call_a", content: "sunny" },
        ],
        toolUse: {
          tools: [{ name: "weather", description: "Looks.", parameters }, { name: "time" }],
          choice: { name: "time" },
          parallel: false,
        },
      },
    ]);
  });

  test.each([
    [undefined, { choice: "auto", parallel: true }],
    [null, { choice: "auto", parallel: true }],
    ["auto", { choice: "auto", parallel: true }],
    ["required", { choice: "required", parallel: true }],
    ["none", undefined],
  ])("with tool_choice %p are asked for as %j", async (choice, expected) => {
    const app = testApp();
    app.chat.script(finish);
    const tools = [{ type: "function", function: { name: "time" } }];
    await app.post(path, { ...body, tools, tool_choice: choice });
    const [request] = app.chat.requests;
    expect<unknown>(request?.toolUse).toEqual(
      expected === undefined ? undefined : { ...expected, tools: [{ name: "time" }] },
    );
  });
});

describe("reasoning", () => {
  const thinking: GenerationEvent[] = [
    { type: "reasoning", text: "Hm, " },
    { type: "reasoning", text: "yes." },
    text("Yes."),
    {
      ...finish,
      usage: { promptTokens: 3, cachedTokens: 1, completionTokens: 9, reasoningTokens: 6 },
    },
  ];

  test("is beside the content, and counted", async () => {
    const app = testApp();
    app.chat.script(...thinking);
    const { choices, usage: counted } = await whole(app);
    expect(choices[0]?.message).toEqual({
      role: "assistant",
      content: "Yes.",
      refusal: null,
      reasoning_content: "Hm, yes.",
    });
    expect(counted).toEqual(usage(9, 1, 6));
  });

  test("is streamed before the content", async () => {
    const app = testApp();
    app.chat.script(...thinking);
    expect(choicesOf(await chunks(app)).slice(1)).toEqual([
      piece({ role: "assistant", reasoning_content: "Hm, " }),
      piece({ role: "assistant", reasoning_content: "yes." }),
      piece({ role: "assistant", content: "Yes." }),
      piece({}, { finish_reason: "stop" }),
    ]);
  });
});

describe("log probabilities", () => {
  const token = (value: string, logprob: number) => ({
    token: value,
    logprob,
    bytes: [...new TextEncoder().encode(value)],
  });
  const hi = { ...token("Hi", -0.5), top: [token("Hi", -0.5), token("Ho", -1)] };
  const broken = { token: "\uFFFD", logprob: -2, bytes: [226], top: [] };
  const wire = [
    { ...token("Hi", -0.5), top_logprobs: [token("Hi", -0.5), token("Ho", -1)] },
    { token: "\uFFFD", logprob: -2, bytes: [226], top_logprobs: [] },
  ];

  test("are in the choice, token by token", async () => {
    const app = testApp();
    app.chat.script(text("Hi", [hi]), text("!", [broken]), finish);
    const { choices } = await whole(app, { logprobs: true, top_logprobs: 2 });
    expect(choices[0]?.logprobs).toEqual({ content: wire, refusal: null });
    expect(app.chat.requests[0]?.topLogprobs).toBe(2);
  });

  test("are streamed with their text", async () => {
    const app = testApp();
    app.chat.script(text("Hi", [hi]), text("!", [broken]), finish);
    const sent = choicesOf(await chunks(app, { logprobs: true }));
    expect(sent.map(({ logprobs }) => logprobs?.content ?? null)).toEqual([
      null,
      wire.slice(0, 1),
      wire.slice(1),
      null,
    ]);
    expect(app.chat.requests[0]?.topLogprobs).toBe(0);
  });
});

describe("the sampler", () => {
  test("gets every parameter of the OpenAI API and the extensions", async () => {
    const app = testApp();
    app.chat.script(finish);
    await whole(app, {
      seed: -1,
      stop: "END",
      top_k: 7,
      min_p: 0.25,
      repeat_penalty: 1.5,
      logit_bias: { "5": -100, "12": 1.5 },
      response_format: { type: "json_object" },
      n: 1,
    });
    expect(app.chat.requests).toEqual([
      {
        messages: [user],
        sampling: {
          temperature: 0.7,
          topP: 0.9,
          topK: 7,
          minP: 0.25,
          presencePenalty: 0.2,
          frequencyPenalty: 0.3,
          repeatPenalty: 1.5,
          repeatLastN: -1,
          dryMultiplier: 0,
          dryBase: 1.75,
          dryAllowedLength: 2,
        },
        seed: -1,
        stop: ["END"],
        logitBias: new Map([
          [5, -100],
          [12, 1.5],
        ]),
        format: "json",
      },
    ]);
  });

  const schema = { type: "object", properties: {} };
  test.each([
    [{ type: "text" }, "text"],
    [{ type: "json_object" }, "json"],
    [{ type: "json_object", schema: null }, "json"],
    [{ type: "json_object", schema }, { schema }],
    [{ type: "json_schema", json_schema: { name: "x", schema, strict: true } }, { schema }],
    [null, undefined],
  ])("gets the response format %j as %j", async (format, expected) => {
    const app = testApp();
    app.chat.script(finish);
    await whole(app, { response_format: format });
    expect<unknown>(app.chat.requests.map((request) => request.format)).toEqual([expected]);
  });

  test("names the schema of a JSON object where it stands", async () => {
    const app = testApp();
    const subject = { part: "schema", inside: ".type" } as const;
    app.chat.script(new NodeError("invalid_request", "It is odd.", { subject }));
    const response = await app.post(path, {
      ...body,
      response_format: { type: "json_object", schema },
    });
    expect(response.headers.get("x-paddock-ignored")).toBeNull();
    expect(await decodeError(response)).toMatchObject({
      param: "response_format.schema.type",
      message: "response_format.schema.type: It is odd.",
    });
  });
});

describe("fields that the node does not act on", () => {
  test("are named in a header and in the log", async () => {
    const app = testApp();
    app.chat.script(finish);
    const response = await app.post(
      path,
      {
        ...{ ...body, reasoning_effort: "low", made_up: 1 },
        messages: [
          { ...user, name: "me" },
          { role: "user", content: [{ type: "text", text: "Hi", cache_control: {} }] },
        ],
      },
      { "x-request-id": "my-id" },
    );
    const cached = "messages[1].content[0].cache_control";
    const ignored = ["reasoning_effort", "made_up", "messages[0].name", cached];
    expect(response.status).toBe(200);
    expect(response.headers.get("x-paddock-ignored")).toBe(ignored.join(", "));
    expect(app.log.filter(({ message }) => message.includes("not acted on"))).toEqual([
      {
        level: "info",
        message: "a request has fields that are not acted on",
        fields: { id: "my-id", ignored: ignored.join(", ") },
      },
    ]);
  });

  test("are named in the header of a stream too", async () => {
    const app = testApp();
    app.chat.script(finish);
    const response = await app.post(path, { ...body, stream: true, verbosity: "low" });
    expect(response.headers.get("x-paddock-ignored")).toBe("verbosity");
    await response.text();
  });

  test("leave no header where nothing depends on them", async () => {
    const app = testApp();
    app.chat.script(finish);
    const response = await app.post(path, {
      ...body,
      ...{ user: "me", metadata: {}, store: false, service_tier: "auto", modalities: ["text"] },
    });
    expect([response.status, response.headers.get("x-paddock-ignored")]).toEqual([200, null]);
  });
});

describe("a request that would mean something else", () => {
  const tool = (name: string) => ({ type: "function", function: { name } });
  const tools = [tool("weather")];
  const call = { id: "a", type: "function", function: { name: "weather", arguments: "{}" } };
  const asks = { role: "assistant", content: null, tool_calls: [call] };
  const said = (...messages: unknown[]) => ({ messages: [user, ...messages] });
  const part = (type: string) => said({ role: "user", content: [{ type }] });

  test.each([
    [{ functions: [{ name: "weather" }], tools }, "functions", /cannot be used with 'tools'/],
    [{ functions: [{ name: "two words" }] }, "functions[0].name", /letters, digits/],
    [{ functions: [{ name: "a" }, { name: "a" }] }, "functions[1].name", /another tool/],
    [{ function_call: { name: "weather" } }, "function_call", /no tools to choose from/],
    [
      { functions: [{ name: "weather" }], function_call: { name: "rain" } },
      "function_call.name",
      /not one of the tools: weather/,
    ],
    [
      said({ role: "function", name: "weather", content: "dry" }),
      "messages[1].role",
      /no 'function_call'/,
    ],
    [{ audio: { voice: "alloy" } }, "audio", /text only/],
    [{ web_search_options: {} }, "web_search_options", /does not search the web/],
    [{ modalities: ["text", "audio"] }, "modalities", /text only/],
    [{ top_logprobs: 3 }, "top_logprobs", /needs 'logprobs'/],
    [{ logprobs: true, top_logprobs: 21 }, "top_logprobs", /from 0 to 20/],
    [{ tool_choice: "required" }, "tool_choice", /no tools to choose from/],
    [
      { tool_choice: { type: "function", function: { name: "weather" } } },
      "tool_choice",
      /no tools to choose from/,
    ],
    [
      { tools, tool_choice: { type: "function", function: { name: "time" } } },
      "tool_choice.function.name",
      /'time' is not one of the tools: weather/,
    ],
    [{ tools: [tool("a"), tool("b"), tool("a")] }, "tools[2].function.name", /another tool/],
    [{ tools: [tool("no spaces")] }, "tools[0].function.name", /1 to 64 letters/],
    [{ stop: ["a", "b", "c", "d", "e"] }, "stop", /4/],
    [{ stop: "" }, "stop", /not empty/],
    [{ stop: ["a", ""] }, "stop[1]", /not empty/],
    [{ n: 0 }, "n", /from 1 to 8/],
    [{ n: 9 }, "n", /from 1 to 8/],
    [{ seed: 1.5 }, "seed", /an integer/],
    [{ top_k: -1 }, "top_k", /at least 0/],
    [{ min_p: 1.1 }, "min_p", /from 0 to 1/],
    [{ repeat_penalty: 0 }, "repeat_penalty", /from 0.1 to 10/],
    [{ logit_bias: { "5": 101 } }, "logit_bias[5]", /from -100 to 100/],
    [{ logit_bias: { "5": -100.5 } }, "logit_bias[5]", /from -100 to 100/],
    [{ logit_bias: { five: 1 } }, "logit_bias.five", /./],
    [{ response_format: { type: "xml" } }, /^response_format(\.type)?$/, /json_schema/],
    [said(asks, { role: "tool", content: "x" }), "messages[2].tool_call_id", /is required/],
    [
      said(asks, { role: "tool", tool_call_id: "b", content: "x" }),
      "messages[2].tool_call_id",
      /'b' answers no tool call/,
    ],
    [said(asks), "messages", /tool calls a have no result/],
    [said(asks, user), "messages[2]", /tool calls a have no result/],
    [part("image_url"), "messages[1].content[0]", /no images/],
    [part("input_audio"), "messages[1].content[0]", /no audio/],
    [part("file"), "messages[1].content[0]", /no files/],
  ])("is refused by the field's name: %j", async (sent, param, message) => {
    const app = testApp();
    const response = await app.post(path, { ...body, ...sent });
    const error = await decodeError(response);
    expect({ status: response.status, ...error }).toEqual({
      status: 400,
      type: "invalid_request_error",
      param: typeof param === "string" ? param : expect.stringMatching(param),
      code: null,
      message: expect.stringMatching(message),
    });
    expect(app.chat.requests).toEqual([]);
  });

  test.each([
    { stop: ["a", "b", "c", "d"] },
    { stop: "x" },
    { n: 8 },
    { logit_bias: { "5": 100, "6": -100 } },
    { logprobs: true, top_logprobs: 20 },
    { logprobs: false, top_logprobs: null },
    { seed: Number.MIN_SAFE_INTEGER },
    { tools: [], tool_choice: "none" },
    { tools: [tool("a".repeat(64))], tool_choice: "none" },
    { top_k: 0, min_p: 1, repeat_penalty: 10 },
  ])("is taken at the border: %j", async (sent) => {
    const app = testApp();
    for (let choice = 0; choice < 8; choice++) app.chat.script(finish);
    expect((await app.post(path, { ...body, ...sent })).status).toBe(200);
  });
});
