import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ChatAnthropic, type ChatAnthropicInput } from "@langchain/anthropic";
import { AIMessageChunk, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { rejectionOf } from "../support/rejection.ts";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

let node: TinyNode;

beforeAll(async () => {
  node = await tinyNode();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

const chat = (more: ChatAnthropicInput = {}): ChatAnthropic =>
  new ChatAnthropic({
    model: "tiny-chat",
    apiKey: "any",
    anthropicApiUrl: new URL(node.baseUrl).origin,
    maxTokens: 300,
    maxRetries: 0,
    ...more,
  });

/** The one answer is this text. */
const attic = {
  outputConfig: { format: { type: "json_schema", schema: { enum: ["attic"] } } },
} satisfies ChatAnthropicInput;

const Lamp = z.object({ room: z.enum(["attic", "cellar"]), level: z.int().min(1).max(9) });

const light = tool(({ room, level }: z.infer<typeof Lamp>) => `${room} at ${level}`, {
  name: "light",
  description: "Lights a lamp",
  schema: Lamp,
});

const tokensOf = (message: object): unknown[] => {
  const usage: unknown = Object(message).usage_metadata;
  return [Object(usage).input_tokens, Object(usage).output_tokens];
};

describe("LangChain's Anthropic package against a listening node", () => {
  test("invokes, with a system message, and gets the reason and the tokens", async () => {
    const answer = await chat(attic).invoke([
      new SystemMessage("Be brief."),
      new HumanMessage("Hello"),
    ]);
    expect(answer.text).toBe('"attic"');
    expect(answer.response_metadata.stop_reason).toBe("end_turn");
    expect(answer).toMatchObject({ usage_metadata: { output_tokens: expect.any(Number) } });
  });

  test("streams, and the chunks add up to the text and the tokens", async () => {
    const chunks = await Array.fromAsync(await chat(attic).stream("Hello"));
    const whole = chunks.reduce((sum, chunk) => sum.concat(chunk), new AIMessageChunk(""));
    expect(chunks.map(({ text }) => text).join("")).toBe('"attic"');
    expect(chunks.filter(({ text }) => text !== "").length).toBeGreaterThan(1);
    expect(tokensOf(whole)).toEqual(tokensOf(await chat(attic).invoke("Hello")));
    expect(tokensOf(whole)).toEqual([expect.any(Number), expect.any(Number)]);
  });

  test("calls the bound tool that it names, sends its result back and gets a text", async () => {
    const question = new HumanMessage("Light?");
    const asking = await chat()
      .bindTools([light], { tool_choice: { type: "tool", name: "light" } })
      .invoke([question]);
    const [call] = asking.tool_calls ?? [];
    if (call?.id === undefined) throw new Error("The answer has no call with an id");
    expect(call.name).toBe("light");
    const result = await light.invoke(Lamp.parse(call.args));
    const answer = await chat(attic)
      .bindTools([light], { tool_choice: "none" })
      .invoke([question, asking, new ToolMessage({ content: result, tool_call_id: call.id })]);
    expect(answer.text).toBe('"attic"');
    expect(answer.tool_calls).toEqual([]);
  });

  test("calls a bound tool in a stream, whose chunks add up", async () => {
    const bound = chat().bindTools([light], { tool_choice: "any" });
    const chunks = await Array.fromAsync(await bound.stream("Light?"));
    const whole = chunks.reduce((sum, chunk) => sum.concat(chunk), new AIMessageChunk(""));
    expect(chunks.length).toBeGreaterThan(2);
    expect(whole.tool_calls).toHaveLength(1);
    expect(Lamp.safeParse(whole.tool_calls?.[0]?.args).success).toBe(true);
  });

  test("gets structured output", async () => {
    const lamp: unknown = await chat()
      .withStructuredOutput(Lamp, { name: "lamp" })
      .invoke("Light?");
    expect(Lamp.safeParse(lamp).success).toBe(true);
  });

  test("gets an error that names the field", async () => {
    expect(await rejectionOf(chat({ temperature: 9 }).invoke("Hello"))).toMatchObject({
      status: 400,
      message: expect.stringContaining("'temperature'"),
    });
  });
});
