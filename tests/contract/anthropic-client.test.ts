import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  RateLimitError,
} from "@anthropic-ai/sdk";
import { nodesForClients } from "../support/front-node.ts";
import { rejectionOf } from "../support/rejection.ts";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

const key = "a-key-of-the-test";
let node: TinyNode;
let client: Anthropic;

const originOf = ({ baseUrl }: TinyNode): string => new URL(baseUrl).origin;

function connect(start: typeof tinyNode): void {
  beforeAll(async () => {
    node = await start({ env: { PADDOCK_API_KEYS: key } });
    client = new Anthropic({ baseURL: originOf(node), apiKey: key, maxRetries: 0 });
  });
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
  });
}

const question = {
  model: "tiny-chat",
  max_tokens: 8,
  system: "Be brief.",
  messages: [{ role: "user", content: "Hello" }],
} satisfies Anthropic.MessageCreateParamsNonStreaming;

/** Whatever the weights, the answer is this text. */
const attic = {
  format: { type: "json_schema", schema: { enum: ["attic"] } },
} satisfies Anthropic.OutputConfig;

const lightTool = {
  name: "light",
  description: "Lights a lamp",
  input_schema: {
    type: "object",
    properties: { room: { enum: ["attic"] }, level: { type: "integer", minimum: 1, maximum: 9 } },
    required: ["room", "level"],
    additionalProperties: false,
  },
} satisfies Anthropic.Tool;
const darkTool = { name: "dark", input_schema: { type: "object" } } satisfies Anthropic.Tool;
const lit = { room: "attic", level: expect.any(Number) };

describe.each(nodesForClients)("Anthropic's package against %s", (_, start) => {
  connect(start);

  test("gets a message, with the reason for its end and what it used", async () => {
    const answer = await client.messages.create(question);
    expect(answer).toMatchObject({ type: "message", role: "assistant", model: "tiny-chat" });
    expect(answer.stop_reason).toBeOneOf(["end_turn", "max_tokens"]);
    expect(answer.usage.output_tokens).toBeLessThanOrEqual(8);
    expect(answer._request_id).toMatch(/^req_/);
  });

  test("streams the text that it gets whole, and accumulates it with its own helper", async () => {
    const whole = await client.messages.create({
      ...question,
      max_tokens: 40,
      output_config: attic,
    });
    expect(whole.content).toMatchObject([{ type: "text", text: '"attic"' }]);
    expect(whole.stop_reason).toBe("end_turn");
    const stream = client.messages.stream({ ...question, max_tokens: 40, output_config: attic });
    const texts: string[] = [];
    const types: string[] = [];
    stream.on("text", (text) => texts.push(text));
    stream.on("streamEvent", ({ type }) => types.push(type));
    const final = await stream.finalMessage();
    expect(texts.length).toBeGreaterThan(1);
    expect(texts.join("")).toBe('"attic"');
    expect(final).toMatchObject({
      content: [{ type: "text", text: '"attic"' }],
      stop_reason: "end_turn",
      usage: { output_tokens: whole.usage.output_tokens },
    });
    expect(types.at(0)).toBe("message_start");
    expect(types.slice(-3)).toEqual(["content_block_stop", "message_delta", "message_stop"]);
  });

  test("parses an answer that is held to a schema", async () => {
    const { parsed_output: parsed } = await client.messages.parse({
      ...question,
      max_tokens: 300,
      output_config: {
        format: {
          type: "json_schema",
          schema: lightTool.input_schema,
          parse: (text: string): unknown => JSON.parse(text),
        },
      },
    });
    expect(parsed).toEqual(lit);
  });

  test("learns in the stream how large the prompt is", async () => {
    const stream = await client.messages.create({ ...question, stream: true });
    const events = await Array.fromAsync(stream);
    const [first] = events;
    if (first?.type !== "message_start") throw new Error("The stream begins otherwise");
    const end = events.find((event) => event.type === "message_delta");
    const { input_tokens: evaluated, cache_read_input_tokens: cached } = end?.usage ?? {};
    expect((evaluated ?? 0) + (cached ?? 0)).toBeGreaterThan(20);
    expect(first.message.usage.input_tokens).toBeGreaterThan(0);
  });

  test("gets a call of the tool that it names, and a text after its result", async () => {
    const asked = { ...question, max_tokens: 300, tools: [darkTool, lightTool] };
    const calling = await client.messages.create({
      ...asked,
      tool_choice: { type: "tool", name: "light" },
    });
    expect(calling.stop_reason).toBe("tool_use");
    const [use] = calling.content;
    if (use?.type !== "tool_use") throw new Error("The answer is no call");
    expect(use).toMatchObject({ name: "light", input: lit });
    const answer = await client.messages.create({
      ...asked,
      messages: [
        ...question.messages,
        { role: "assistant", content: calling.content },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: use.id, content: [{ type: "text", text: "lit" }] },
            { type: "text", text: "Is it lit?" },
          ],
        },
      ],
      tool_choice: { type: "none" },
      output_config: attic,
    });
    expect(answer).toMatchObject({
      content: [{ type: "text", text: '"attic"' }],
      stop_reason: "end_turn",
    });
  });

  test("accumulates a streamed call from growing JSON", async () => {
    const stream = client.messages.stream({
      ...question,
      max_tokens: 300,
      tools: [lightTool],
      tool_choice: { type: "any", disable_parallel_tool_use: true },
    });
    const pieces: string[] = [];
    stream.on("inputJson", (piece) => pieces.push(piece));
    const { content, stop_reason: reason } = await stream.finalMessage();
    expect(content).toEqual([expect.objectContaining({ type: "tool_use", input: lit })]);
    expect(reason).toBe("tool_use");
    expect(pieces.length).toBeGreaterThan(1);
    expect(JSON.parse(pieces.join(""))).toEqual(lit);
  });

  test("runs a tool with its own runner, which sends the result back", async () => {
    const ran: unknown[] = [];
    const runner = client.beta.messages.toolRunner({
      ...question,
      max_tokens: 300,
      max_iterations: 2,
      tools: [
        {
          ...lightTool,
          run: (input: unknown) => {
            ran.push(input);
            return "lit";
          },
          parse: (input: unknown) => input,
        },
      ],
      tool_choice: { type: "any" },
    });
    const last = await runner;
    expect(ran).toEqual([lit, lit]);
    expect(last.stop_reason).toBe("tool_use");
  });

  test("gets errors as its own classes, and asks once for a model that is not there", async () => {
    const bad = await rejectionOf(client.messages.create({ ...question, max_tokens: 0 }));
    expect(bad).toBeInstanceOf(BadRequestError);
    expect(bad).toMatchObject({
      type: "invalid_request_error",
      apiMessage: expect.stringContaining("'max_tokens'"),
      requestID: expect.stringMatching(/^req_/),
    });
    let requests = 0;
    const counting = new Anthropic({
      baseURL: originOf(node),
      apiKey: key,
      fetch: (url, init) => {
        requests++;
        return fetch(url, init);
      },
    });
    const unknown = counting.messages.create({ ...question, model: "claude-opus-5-5" });
    expect(await rejectionOf(unknown)).toMatchObject({
      constructor: NotFoundError,
      type: "not_found_error",
      apiMessage: expect.stringContaining("tiny-chat"),
    });
    expect(requests).toBe(1);
    const stranger = client.withOptions({ apiKey: "not-a-known-key" });
    expect(await rejectionOf(stranger.messages.create(question))).toBeInstanceOf(
      AuthenticationError,
    );
    const odd = { type: "object", properties: { a: { not: { type: "string" } } } } as const;
    const tools = [{ name: "odd", input_schema: odd, strict: true }];
    expect(await rejectionOf(client.messages.create({ ...question, tools }))).toMatchObject({
      constructor: BadRequestError,
      apiMessage: expect.stringMatching(/^tools\[0\]\.input_schema.*not/),
    });
  });

  test("is let in with a key in either header", async () => {
    const asHeader = new Anthropic({
      baseURL: originOf(node),
      authToken: null,
      apiKey: null,
      defaultHeaders: { "x-api-key": key },
    });
    expect((await asHeader.messages.create(question)).type).toBe("message");
    const asToken = new Anthropic({ baseURL: originOf(node), authToken: key, apiKey: null });
    expect((await asToken.messages.create(question)).type).toBe("message");
  });

  test("leaves a stream in the middle, and the node goes on", async () => {
    const stream = await client.messages.create({ ...question, max_tokens: 500, stream: true });
    for await (const _event of stream) break;
    const controller = new AbortController();
    const aborted = client.messages.create(
      { ...question, max_tokens: 500 },
      { signal: controller.signal },
    );
    controller.abort();
    expect(await rejectionOf(aborted)).toBeInstanceOf(APIUserAbortError);
    expect((await client.messages.create(question)).type).toBe("message");
  });
});

describe("Anthropic's package against a node of its own", () => {
  connect(tinyNode);

  test("counts what a message would be given, tools included", async () => {
    const { max_tokens: _, ...prompt } = question;
    const counted = await client.messages.countTokens(prompt);
    const { usage } = await client.messages.create(question);
    const given = usage.input_tokens + (usage.cache_read_input_tokens ?? 0);
    expect(counted.input_tokens).toBe(given);
    const withTools = await client.messages.countTokens({ ...prompt, tools: [lightTool] });
    expect(withTools.input_tokens).toBeGreaterThan(given);
    const long = client.messages.countTokens({ ...prompt, system: "word ".repeat(20_000) });
    expect(await rejectionOf(long)).toMatchObject({
      constructor: BadRequestError,
      apiMessage: expect.stringMatching(/^prompt is too long: /),
    });
  });

  test("has what a grammar can hold of a tool's schema held, and the rest let go", async () => {
    const { properties, ...schema } = lightTool.input_schema;
    const script = { enum: ["on"], not: { const: "off" }, if: {} };
    const { content } = await client.messages.create({
      ...question,
      max_tokens: 300,
      tools: [
        {
          ...lightTool,
          input_schema: {
            ...schema,
            type: "object",
            properties: { ...properties, script },
            required: ["room", "level", "script"],
          },
        },
      ],
      tool_choice: { type: "any" },
    });
    expect(content).toMatchObject([{ type: "tool_use", input: { ...lit, script: "on" } }]);
  });

  test("learns which stop sequence was met", async () => {
    const asked = {
      ...question,
      max_tokens: 40,
      output_config: attic,
      stop_sequences: ["cellar", "tt"],
    };
    const whole = await client.messages.create(asked);
    expect(whole).toMatchObject({
      content: [{ type: "text", text: '"a' }],
      stop_reason: "stop_sequence",
      stop_sequence: "tt",
    });
    expect(await client.messages.stream(asked).finalMessage()).toMatchObject({
      stop_reason: "stop_sequence",
      stop_sequence: "tt",
    });
  });

  test("learns that an answer was cut, and where the context is full", async () => {
    const call = await client.messages.create({
      ...question,
      tools: [lightTool],
      tool_choice: { type: "any" },
      max_tokens: 12,
    });
    expect(call.stop_reason).toBe("max_tokens");
    const endless = { type: "array", items: { const: 1 }, minItems: 2000 };
    const full = client.messages.stream({
      ...question,
      messages: [{ role: "user", content: "n ".repeat(900) }],
      max_tokens: 100_000,
      output_config: { format: { type: "json_schema", schema: endless } },
    });
    expect((await full.finalMessage()).stop_reason).toBe("model_context_window_exceeded");
  });

  test("reads a conversation's beginning from the cache, whichever API it came by", async () => {
    const system = "Remember this conversation well, please.";
    const chat = await fetch(`${node.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "tiny-chat",
        max_tokens: 1,
        messages: [{ role: "system", content: system }, ...question.messages],
      }),
    });
    expect(chat.status).toBe(200);
    const { usage } = await client.messages.create({ ...question, system });
    expect(usage.cache_read_input_tokens).toBeGreaterThan(usage.input_tokens);
  });
});

test("Anthropic's package knows a limit by its error, and asks again when it is told to", async () => {
  await using limited = await tinyNode({ env: { PADDOCK_DEFAULT_REQUESTS_PER_MINUTE: "60" } });
  const connected = (maxRetries: number) =>
    new Anthropic({ baseURL: originOf(limited), apiKey: "none", maxRetries });
  const { max_tokens: _, ...prompt } = question;
  const impatient = connected(0);
  const refused = await rejectionOf(
    (async () => {
      for (;;) await impatient.messages.countTokens(prompt);
    })(),
  );
  expect(refused).toBeInstanceOf(RateLimitError);
  if (!(refused instanceof APIError)) throw new Error("It is another error");
  expect(refused).toMatchObject({ status: 429, type: "rate_limit_error" });
  expect(refused.headers?.get("anthropic-ratelimit-requests-limit")).toBe("60");
  expect((await connected(2).messages.countTokens(prompt)).input_tokens).toBeGreaterThan(0);
});
