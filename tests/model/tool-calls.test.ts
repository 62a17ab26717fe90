import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020.js";
import type { ChatModel } from "../../src/core/models/model.ts";
import type {
  ChatMessage,
  GenerationRequest,
  Tool,
  ToolChoice,
} from "../../src/core/ports/chat-engine.ts";
import { greedy } from "../support/greedy.ts";
import { rejectionOf } from "../support/rejection.ts";
import { neutralSettings, tinyChatModel } from "../support/tiny-engines.ts";

const ajv = new Ajv({ strict: false });
const tokenOf = (character: string): number => 3 + 256 + character.charCodeAt(0) - 33;
const newline = 3 + 10;

const weather: Tool = {
  name: "get_weather",
  description: "Looks out of the window.",
  parameters: {
    type: "object",
    properties: {
      city: { type: "string", maxLength: 5 },
      days: { type: "integer", minimum: 1, maximum: 9 },
    },
    required: ["city"],
    additionalProperties: false,
  },
};
const time: Tool = { name: "get" };
const tools = [time, weather];

const ask = (choice: ToolChoice, rest: Partial<GenerationRequest> = {}): GenerationRequest => ({
  messages: [{ role: "user", content: "Weather?" }],
  sampling: { ...greedy, temperature: 1 },
  maxTokens: 400,
  seed: 1,
  toolUse: { tools, choice, parallel: true },
  ...rest,
});

async function run({ engine }: ChatModel, request: GenerationRequest) {
  const { signal } = new AbortController();
  const events = await Array.fromAsync(engine.generate(request, { signal }));
  const last = events.at(-1);
  if (last?.type !== "finish") throw new Error("The events do not end in a finish");
  const calls = events.flatMap((event) => (event.type === "tool-call" ? [event] : []));
  return {
    calls: calls.map(({ index, id, name }) => ({
      ...{ index, id, name },
      text: events
        .map((event) =>
          event.type === "tool-arguments" && event.index === index ? event.text : "",
        )
        .join(""),
    })),
    text: events.map((event) => (event.type === "text" ? event.text : "")).join(""),
    ...{ events, reason: last.reason, usage: last.usage },
  };
}

/** Whether the arguments are JSON that the tool of this name takes. */
function valid(name: string, text: string): boolean {
  const { parameters } = tools.find((tool) => tool.name === name) ?? {};
  const schema = parameters ?? { type: "object", additionalProperties: false };
  return ajv.validate(JSON.parse(JSON.stringify(schema)), JSON.parse(text));
}

const settings = { ...neutralSettings, ctxSize: 2048 };
let plain: ChatModel;
let qwen: ChatModel;

beforeAll(async () => {
  plain = await tinyChatModel({ settings });
  qwen = await tinyChatModel({ settings: { ...settings, promptTemplate: "qwen" } });
});
afterAll(async () => {
  await plain[Symbol.asyncDispose]();
  await qwen[Symbol.asyncDispose]();
});

describe("a tool call", () => {
  // The first calls the one tool, the second the other.
  test.each([1, 2])("that is required is made, with arguments that validate: %p", async (seed) => {
    const { calls, text, reason } = await run(plain, ask("required", { seed }));
    expect({ text, reason, indices: calls.map(({ index }) => index) }).toEqual({
      text: "",
      reason: "tool_calls",
      indices: [0],
    });
    for (const call of calls) {
      expect(call.id).toMatch(/^call_[0-9a-f]{24}$/);
      expect([call, valid(call.name, call.text)]).toEqual([call, true]);
    }
  });

  test.each(["get", "get_weather"])("of one tool is of that one: %s", async (name) => {
    const { calls, reason } = await run(plain, ask({ name }));
    expect([calls.map((call) => call.name), reason]).toEqual([[name], "tool_calls"]);
    expect(calls.every((call) => valid(name, call.text))).toBe(true);
  });

  test("is made where the model writes its beginning by itself", async () => {
    // Held to a boolean or a call, and kept from the booleans, it writes the call's prefix.
    const logitBias = new Map(["t", "f"].map((letter) => [tokenOf(letter), -100]));
    const request = ask("auto", { format: { schema: { type: "boolean" } }, logitBias });
    const { calls, text, reason } = await run(plain, request);
    expect({ text, reason, calls: calls.length }).toEqual({
      text: "",
      reason: "tool_calls",
      calls: 1,
    });
    expect(calls.every((call) => valid(call.name, call.text))).toBe(true);
  });

  test.each([
    { type: "object", properties: { a: null } },
    { oneOf: 5 },
    { enum: 5 },
    { type: "array", prefixItems: "ab" },
  ])("is refused by name where the prompt cannot have its tool: %j", async (schema) => {
    const broken = { name: "b", parameters: { type: "object", properties: { a: schema } } };
    for (const choice of ["auto", "required"] as const) {
      const toolUse = { tools: [...tools, broken], choice, parallel: true };
      const error = await rejectionOf(run(plain, ask(choice, { toolUse })));
      expect(error).toMatchObject({ kind: "invalid_request", subject: { part: "tools", at: 2 } });
    }
  });

  test("is not made where the model answers with text", async () => {
    const logitBias = new Map([[tokenOf("|"), -100]]);
    const request = ask("auto", { format: { schema: { type: "boolean" } }, logitBias });
    const { calls, text, reason } = await run(plain, request);
    expect({ calls, reason }).toEqual({ calls: [], reason: "stop" });
    expect(["true", "false"]).toContain(text);
  });

  test("has an object for arguments where the tool's schema is empty", async () => {
    const logitBias = new Map([
      [tokenOf('"'), 8],
      [tokenOf("}"), 12],
    ]);
    const toolUse = {
      tools: [{ name: "ping", parameters: {} }],
      choice: "required",
      parallel: false,
    };
    const { calls, reason } = await run(plain, {
      ...ask("required", { logitBias }),
      toolUse: { ...toolUse, choice: "required" },
    });
    expect({ reason, calls: calls.map(({ text }) => text.trimStart()[0]) }).toEqual({
      reason: "tool_calls",
      calls: ["{"],
    });
  });

  test("that is cut short ends in length", async () => {
    const { reason, usage, calls } = await run(
      plain,
      ask({ name: "get_weather" }, { maxTokens: 30 }),
    );
    expect({
      reason,
      tokens: usage.completionTokens,
      names: calls.map(({ name }) => name),
    }).toEqual({
      reason: "length",
      tokens: 30,
      names: ["get_weather"],
    });
  });

  test("has no more tokens than it may have, though they end before its name", async () => {
    const { reason, usage, calls } = await run(plain, ask("required", { maxTokens: 3 }));
    expect({ reason, calls }).toEqual({ reason: "length", calls: [] });
    expect(usage.completionTokens).toBeLessThanOrEqual(3);
  });

  test("share one bound with the others, and the one that meets it is refused by its place", async () => {
    // Each counts to about a thousand, which takes a step or more for each.
    const many = Array.from({ length: 20 }, (_, at) => ({
      name: `t${at}`,
      parameters: { properties: { a: { type: "string", pattern: `^.{0,${999 - at}}$` } } },
    }));
    const toolUse = { tools: many, choice: "auto", parallel: false } as const;
    const refusal = Object(await rejectionOf(run(plain, ask("auto", { toolUse }))));
    expect(refusal).toMatchObject({
      kind: "invalid_request",
      subject: { part: "tools" },
      message: expect.stringContaining("steps to compile"),
    });
    // Not the first, which alone is within the bound.
    expect(refusal.subject.at).toBeWithin(1, many.length);
  });

  test("of one name with many readings are refused", async () => {
    const named = Array.from({ length: 200 }, (_, at) => ({
      name: "get",
      parameters: { properties: { a: { type: "string", maxLength: 1 + at } } },
    }));
    const toolUse = { tools: named, choice: "auto", parallel: false } as const;
    expect(await rejectionOf(run(plain, ask("auto", { toolUse })))).toMatchObject({
      kind: "invalid_request",
      subject: { part: "tools", at: 128 },
      message: expect.stringContaining("parses of a call open"),
    });
  });

  test("with a schema that cannot be held is refused by the tool's place", async () => {
    const broken = { name: "broken", parameters: { type: "object", not: {} } };
    const toolUse = { tools: [time, broken], choice: "auto", parallel: true } as const;
    expect(await rejectionOf(run(plain, ask("auto", { toolUse })))).toMatchObject({
      kind: "invalid_request",
      subject: { part: "tools", at: 1 },
      message: "'not' is not supported.",
    });
  });
});

describe("parallel tool calls", () => {
  /** Favours the line break before another call. */
  const logitBias = new Map([[newline, 4]]);

  test("have indices from 0 on and ids of their own", async () => {
    let found: Awaited<ReturnType<typeof run>> | undefined;
    for (let seed = 1; seed <= 12 && (found?.calls.length ?? 0) < 2; seed++) {
      found = await run(qwen, ask("required", { seed, logitBias, maxTokens: 700 }));
    }
    const calls = found?.calls ?? [];
    expect(calls.length).toBeGreaterThan(1);
    expect(calls.map(({ index }) => index)).toEqual(calls.map((_, at) => at));
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    const finished = found?.reason === "tool_calls" ? calls : calls.slice(0, -1);
    expect(finished.every((call) => valid(call.name, call.text))).toBe(true);
  });

  test("are one where the caller wants no more", async () => {
    const toolUse = { tools, choice: "required", parallel: false } as const;
    for (const seed of [1, 3]) {
      const { calls, reason } = await run(qwen, ask("required", { seed, logitBias, toolUse }));
      expect([calls.length, reason]).toEqual([1, "tool_calls"]);
    }
  });
});

describe("a history of tool calls", () => {
  const history = (city: string, result: string): ChatMessage[] => [
    { role: "user", content: "Weather?" },
    {
      role: "assistant",
      content: "",
      toolCalls: [{ id: "a", name: "get_weather", arguments: JSON.stringify({ city }) }],
    },
    { role: "tool", toolCallId: "a", content: result },
  ];

  test.each(["auto", "qwen"] as const)("is read and answered: %s", async (template) => {
    const model = template === "qwen" ? qwen : plain;
    const { toolUse: _, ...free } = ask("auto", { maxTokens: 5 });
    const promptTokens = async (messages: ChatMessage[]) =>
      (await run(model, { ...free, messages })).usage.promptTokens;
    const short = await promptTokens(history("Rome", "sun"));
    expect(await promptTokens(history("Rome-on-Sea", "sun"))).toBe(short + "-on-Sea".length);
    expect(await promptTokens(history("Rome", "sunshine"))).toBe(short + "shine".length);
    const offered = ask("required", { messages: history("Rome", "sun") });
    expect((await run(model, offered)).reason).toBe("tool_calls");
  });
});
