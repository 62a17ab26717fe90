import { describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { Value } from "@sinclair/typebox/value";
import { NodeError } from "../../src/core/errors.ts";
import {
  Message,
  MessageEvent,
  TokenCount,
} from "../../src/server/operations/messages/answer-schema.ts";
import { decode } from "../support/decode.ts";
import { passage } from "../support/passages.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const path = "/v1/messages";
const user = { role: "user", content: "Hello" } as const;
const body = { model: "chatty", max_tokens: 64, messages: [user] };
const text = (value: string) => ({ type: "text", text: value }) as const;
const tools = [
  { name: "look", description: "Looks.", input_schema: { type: "object" as const } },
  { name: "hear", input_schema: { type: "object" as const } },
];

const head = {
  id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
  type: "message",
  role: "assistant",
  model: "chatty",
  container: null,
  diagnostics: null,
} as const;
const deltaUsage = {
  input_tokens: 2,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 1,
  output_tokens: 2,
  output_tokens_details: { thinking_tokens: 0 },
  server_tool_use: null,
} as const;
const usage = {
  ...deltaUsage,
  cache_creation: null,
  inference_geo: null,
  service_tier: "standard",
  speed: null,
} as const;
const noEnd = { stop_reason: null, stop_sequence: null, stop_details: null };
const endTurn = { ...noEnd, stop_reason: "end_turn" } as const;

interface Frame {
  name: string | undefined;
  data: unknown;
}

/** The events of a stream, each with its name; comments are left out. */
async function readEvents(response: Response): Promise<Frame[]> {
  const frames = (await response.text()).split("\n\n").filter((frame) => /^event:/.test(frame));
  return frames.map((frame) => {
    const [, name, data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
    return { name, data: JSON.parse(data) };
  });
}

describe("a message", () => {
  test("has every field of Anthropic's, and what the caller said goes to the engine", async () => {
    const app = testApp();
    app.chat.script(text("Hi "), text("there"), finish);
    const response = await app.post(path, {
      ...body,
      system: "Be brief.",
      stop_sequences: ["END"],
      temperature: 0,
      top_p: 0.5,
      top_k: 3,
    });
    expect(await decode(Message, response)).toEqual({
      ...head,
      content: [{ type: "text", text: "Hi there" }],
      ...endTurn,
      usage,
    });
    expect(response.headers.get("request-id")).toBe(response.headers.get("x-request-id"));
    expect(app.chat.requests).toEqual([
      {
        messages: [{ role: "system", content: "Be brief." }, user],
        sampling: {
          temperature: 0,
          topP: 0.5,
          topK: 3,
          minP: 0.08,
          presencePenalty: 0.2,
          frequencyPenalty: 0.3,
          repeatPenalty: 1.1,
          repeatLastN: -1,
          dryMultiplier: 0,
          dryBase: 1.75,
          dryAllowedLength: 2,
        },
        maxTokens: 64,
        stop: ["END"],
      },
    ]);
  });

  test("names the stop sequence that was met", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), { ...finish, stop: "END" });
    const answer = await decode(
      Message,
      await app.post(path, { ...body, stop_sequences: ["x", "END"] }),
    );
    expect(answer).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: "END" });
  });

  test("has thoughts and calls as blocks", async () => {
    const app = testApp();
    app.chat.script(
      { type: "reasoning", text: "Hm" },
      { type: "tool-call", index: 0, id: "call_1", name: "look" },
      { type: "tool-arguments", index: 0, text: '{"at":"sky"}' },
      { ...finish, reason: "tool_calls" },
    );
    const answer = await decode(Message, await app.post(path, { ...body, tools }));
    expect(answer).toMatchObject({
      content: [
        { type: "thinking", thinking: "Hm", signature: expect.stringMatching(/^[\w-]{43}$/) },
        { type: "tool_use", id: "call_1", name: "look", input: { at: "sky" } },
      ],
      stop_reason: "tool_use",
    });
    expect(app.chat.requests[0]?.toolUse).toEqual({
      tools: [
        { name: "look", description: "Looks.", parameters: { type: "object" }, strict: false },
        { name: "hear", parameters: { type: "object" }, strict: false },
      ],
      choice: "auto",
      parallel: true,
    });
  });

  test.each([
    [{ type: "auto" }, { choice: "auto", parallel: true }],
    [
      { type: "any", disable_parallel_tool_use: true },
      { choice: "required", parallel: false },
    ],
    [
      { type: "tool", name: "hear" },
      { choice: { name: "hear" }, parallel: true },
    ],
  ])("chooses tools as asked: %j", async (choice, toolUse) => {
    const app = testApp();
    app.chat.script(finish);
    await app.post(path, { ...body, tools, tool_choice: choice });
    expect(app.chat.requests[0]?.toolUse).toMatchObject(toolUse);
  });

  test("offers no tools where none is to be called", async () => {
    const app = testApp();
    app.chat.script(finish);
    await app.post(path, { ...body, tools, tool_choice: { type: "none" } });
    expect(app.chat.requests[0]?.toolUse).toBeUndefined();
  });

  test("is held to a schema", async () => {
    const schema = { type: "boolean" };
    const app = testApp();
    app.chat.script(finish).script(finish);
    const format = { type: "json_schema", schema };
    await app.post(path, { ...body, output_config: { format, effort: null } });
    await app.post(path, { ...body, output_format: format });
    expect(app.chat.requests.map((request) => request.format)).toEqual([{ schema }, { schema }]);
  });

  test("is grounded as the node does it, and says in what", async () => {
    const app = testApp({ rag: { policy: "last-user-message" } });
    await app.repository.upsert([passage(1, [1, 1], { source: "Llamas hum." })]);
    app.chat.script(text("Hum"), finish).script(text("Hum"), finish).script(text("Hum"), finish);
    const points = [expect.objectContaining({ source: "Llamas hum." })];
    expect(await decode(Message, await app.post(path, body))).toMatchObject({
      retrieval: { points, dropped: 0 },
    });
    const [start] = await readEvents(await app.post(path, { ...body, stream: true }));
    expect(start?.data).toMatchObject({ message: { retrieval: { points } } });
    const plain = await decode(Message, await app.post(path, { ...body, rag: false }));
    expect(plain.retrieval).toBeUndefined();
  });

  test("is logged where prompts are", async () => {
    const app = testApp({ logPrompts: true });
    app.chat.script(text("Hi"), finish);
    await app.post(path, { ...body, system: "Be brief." });
    const logged = app.log.filter(({ message }) => message.includes("prompt"));
    expect(JSON.stringify(app.log)).toContain('"system":"Be brief."');
    expect(JSON.stringify(app.log)).toContain('"texts":["Hi"]');
    expect(logged.length).toBeGreaterThan(0);
  });

  test("says which headers and fields were not acted on", async () => {
    const app = testApp();
    app.chat.script(finish);
    const response = await app.post(
      path,
      { ...body, seed: 1, thinking: { type: "enabled", budget_tokens: 1024 } },
      { "anthropic-version": "2023-06-01", "anthropic-beta": "context-1m-2025-08-07" },
    );
    expect(response.headers.get("x-paddock-ignored")).toBe(
      "seed, thinking.budget_tokens, anthropic-beta.context-1m-2025-08-07",
    );
  });

  test("counts as a chat in the numbers, under its own name", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), finish);
    await app.post(path, body);
    const page = async (): Promise<string> => (await app.get("/metrics")).text();
    const counted = /paddock_requests_total\{[^}]*operation="messages"[^}]*\} 1/;
    await waitFor("the request in the numbers", async () => counted.test(await page()));
    expect(await page()).toMatch(/paddock_prompt_tokens_total\{model="chatty"\} 3/);
  });
});

describe("a streamed message", () => {
  test("comes in Anthropic's events in their order, with what the prompt has at the start", async () => {
    const app = testApp();
    app.chat.script(text("Hi "), text("there"), finish);
    const response = await app.post(path, { ...body, stream: true });
    expect(response.headers.get("content-type")).toStartWith("text/event-stream");
    const events = await readEvents(response);
    for (const { name, data } of events) {
      expect(Value.Check(MessageEvent, data)).toBe(true);
      expect(data).toMatchObject({ type: name });
    }
    expect(events.map(({ data }) => data)).toEqual([
      {
        type: "message_start",
        message: {
          ...head,
          content: [],
          ...noEnd,
          usage: { ...usage, input_tokens: 1, cache_read_input_tokens: 0, output_tokens: 0 },
        },
      },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "text", text: "" },
      },
      { type: "ping" },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi " } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "there" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { ...endTurn, container: null }, usage: deltaUsage },
      { type: "message_stop" },
    ]);
  });

  test("of nothing has its beginning and its end", async () => {
    const app = testApp();
    app.chat.script(finish);
    const events = await readEvents(await app.post(path, { ...body, stream: true }));
    expect(events.map(({ name }) => name)).toEqual([
      "message_start",
      "message_delta",
      "message_stop",
    ]);
  });

  test("that breaks off ends with an error, which says nothing of the node's inside", async () => {
    const app = testApp();
    app.chat.script(text("Hi"), new Error("secret"));
    const response = await app.post(path, { ...body, stream: true });
    const events = await readEvents(response);
    expect(events.map(({ name }) => name)).toEqual([
      "message_start",
      "content_block_start",
      "ping",
      "content_block_delta",
      "error",
    ]);
    expect(events.at(-1)?.data).toEqual({
      type: "error",
      error: {
        type: "api_error",
        message: expect.stringContaining("The node failed to answer this request."),
      },
      request_id: response.headers.get("request-id"),
    });
  });

  test("that fails before its first event keeps its status", async () => {
    const app = testApp();
    app.chat.script(new NodeError("overloaded", "Too many wait."));
    const response = await app.post(path, { ...body, stream: true });
    expect(response.status).toBe(529);
    expect(await response.json()).toMatchObject({ error: { type: "overloaded_error" } });
  });

  test("that ends without a reason is a failure", async () => {
    const app = testApp();
    app.chat.script(text("Hi"));
    const events = await readEvents(await app.post(path, { ...body, stream: true }));
    expect(events.at(-1)).toMatchObject({ name: "error", data: { error: { type: "api_error" } } });
  });
});

describe("a count of tokens", () => {
  const counted = "/v1/messages/count_tokens";

  test("is that of the prompt, and no answer", async () => {
    const app = testApp();
    const { max_tokens: _, ...prompt } = body;
    const response = await app.post(counted, { ...prompt, system: "Be very brief.", tools });
    expect(await decode(TokenCount, response)).toEqual({ input_tokens: 4 });
    expect(response.headers.get("x-paddock-ignored")).toBeNull();
    expect(app.chat.requests).toEqual([]);
  });

  test("names what it does not act on, and refuses what an answer would", async () => {
    const app = testApp();
    const response = await app.post(`${counted}?beta=true`, body, { "anthropic-beta": "odd-1" });
    expect(response.headers.get("x-paddock-ignored")).toBe("max_tokens, anthropic-beta.odd-1");
    const refused = await app.post(counted, { ...body, messages: [] });
    expect(refused.status).toBe(400);
  });

  test("of more than the context is a 400 that says so", async () => {
    const app = testApp();
    app.chat.countTokens = async () => Number.POSITIVE_INFINITY;
    const response = await app.post(counted, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        type: "invalid_request_error",
        message: expect.stringMatching(/^prompt is too long: .* context of 128 /),
      },
    });
  });
});

describe("Anthropic's package", () => {
  test("accumulates thoughts with their signature, and several calls", async () => {
    const app = testApp();
    const written = [
      { type: "reasoning", text: "Look " },
      { type: "reasoning", text: "up." },
      { type: "text", text: "I look." },
      { type: "tool-call", index: 0, id: "call_1", name: "look" },
      { type: "tool-arguments", index: 0, text: '{"at":' },
      { type: "tool-arguments", index: 0, text: '"sky"}' },
      { type: "tool-call", index: 1, id: "call_2", name: "hear" },
      { type: "tool-arguments", index: 1, text: "{}" },
      { ...finish, reason: "tool_calls" },
    ] as const;
    app.chat.script(...written).script(...written);
    const client = new Anthropic({
      apiKey: "any",
      baseURL: "http://localhost",
      fetch: (url, init) => app.post(new URL(String(url)).pathname, String(init?.body)),
    });
    const asked = { ...body, tools };
    const thoughts: string[] = [];
    const stream = client.messages
      .stream(asked)
      .on("thinking", (thought) => thoughts.push(thought));
    const { content } = await stream.finalMessage();
    expect(thoughts).toEqual(["Look ", "up."]);
    expect(content).toMatchObject([
      { type: "thinking", thinking: "Look up.", signature: expect.stringMatching(/^[\w-]{43}$/) },
      { type: "text", text: "I look." },
      { type: "tool_use", id: "call_1", name: "look", input: { at: "sky" } },
      { type: "tool_use", id: "call_2", name: "hear", input: {} },
    ]);
    const whole = await decode(Message, await app.post(path, asked));
    expect<unknown>(content).toMatchObject(whole.content);
  });
});
