import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createOpenAI, type OpenAIProvider } from "@ai-sdk/openai";
import {
  APICallError,
  generateObject,
  generateText,
  isStepCount,
  Output,
  streamText,
  tool,
} from "ai";
import { z } from "zod";
import { rejectionOf } from "../support/rejection.ts";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

let node: TinyNode;
let openai: OpenAIProvider;

beforeAll(async () => {
  node = await tinyNode();
  openai = createOpenAI({ baseURL: node.baseUrl, apiKey: "any" });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** Whatever the weights, an answer by this schema is one of these. */
const Lamp = z.object({ room: z.enum(["attic", "cellar"]), level: z.enum(["low", "high"]) });

const light = tool({
  description: "Lights a lamp",
  inputSchema: Lamp,
  execute: ({ room, level }) => `${room} at ${level}`,
});

describe("the AI SDK's OpenAI provider, with its defaults, against a listening node", () => {
  test("generates a text, with its reason and its tokens", async () => {
    const answer = await generateText({
      model: openai("tiny-chat"),
      system: "Be brief.",
      prompt: "Hello",
      maxOutputTokens: 4,
      temperature: 0,
    });
    expect(answer.usage.outputTokens).toBeLessThanOrEqual(4);
    expect(answer.finishReason).toBeOneOf(["length", "stop"]);
    expect(answer.warnings).toEqual([]);
    expect(answer.response.id).toMatch(/^resp_/);
  });

  test("streams a text that is the same whole", async () => {
    const asked = {
      model: openai("tiny-chat"),
      prompt: "Light?",
      output: Output.object({ schema: Lamp }),
    };
    const answer = streamText(asked);
    const pieces = await Array.fromAsync(answer.textStream);
    expect(pieces.length).toBeGreaterThan(1);
    expect(Lamp.safeParse(JSON.parse(pieces.join(""))).success).toBe(true);
    expect(await answer.output).toEqual(JSON.parse(pieces.join("")));
    expect(await answer.finishReason).toBe("stop");
    expect((await answer.usage).outputTokens).toBeGreaterThan(0);
  });

  test("generates an object by a schema", async () => {
    const { object, finishReason } = await generateObject({
      model: openai("tiny-chat"),
      prompt: "Light?",
      schema: Lamp,
    });
    expect(Lamp.safeParse(object).success).toBe(true);
    expect(finishReason).toBe("stop");
  });

  test("calls the tool that it names, with arguments by its schema", async () => {
    const { toolCalls, toolResults, finishReason } = await generateText({
      model: openai("tiny-chat"),
      prompt: "Light?",
      tools: { light, dark: tool({ inputSchema: z.object({}) }) },
      toolChoice: { type: "tool", toolName: "light" },
    });
    expect(finishReason).toBe("tool-calls");
    const { room, level } = Lamp.parse(toolCalls[0]?.input);
    expect(toolResults).toMatchObject([{ toolName: "light", output: `${room} at ${level}` }]);
  });

  test("calls a tool in a stream, with arguments that grow", async () => {
    const answer = streamText({
      model: openai("tiny-chat"),
      prompt: "Light?",
      tools: { light },
      toolChoice: "required",
    });
    const grown: string[] = [];
    for await (const part of answer.stream) {
      if (part.type === "tool-input-delta") grown.push(part.delta);
    }
    const [call] = await answer.toolCalls;
    expect(grown.length).toBeGreaterThan(1);
    expect(call).toMatchObject({ toolName: "light", input: JSON.parse(grown.join("")) });
    expect(await answer.finishReason).toBe("tool-calls");
  });

  test("sends a tool's result back and gets a text, in a run of two steps", async () => {
    const { steps } = await generateText({
      model: openai("tiny-chat"),
      prompt: "Light?",
      maxOutputTokens: 80,
      tools: { light },
      stopWhen: isStepCount(2),
      prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "none" }),
    });
    expect(steps.map(({ toolCalls }) => toolCalls.length)).toEqual([1, 0]);
    expect(steps[1]?.usage.inputTokens).toBeGreaterThan(0);
  });

  test("goes on from an answer that the node keeps, by references to its items", async () => {
    const asked = { model: openai("tiny-chat"), output: Output.object({ schema: Lamp }) };
    const question = { role: "user" as const, content: "Light?" };
    const first = await generateText({ ...asked, messages: [question] });
    const second = await generateText({
      ...asked,
      messages: [question, ...first.response.messages, { role: "user", content: "Again?" }],
      include: { requestBody: true },
    });
    expect(JSON.stringify(second.request.body)).toContain("item_reference");
    expect(Lamp.safeParse(second.output).success).toBe(true);
    expect(second.usage.inputTokenDetails.cacheReadTokens).toBeGreaterThan(0);
  });

  test("gets an error with the node's own words, and does not ask again", async () => {
    const refused = await rejectionOf(
      generateText({ model: openai("tiny-chat"), prompt: "Hello", temperature: 9 }),
    );
    expect(APICallError.isInstance(refused)).toBe(true);
    expect(refused).toMatchObject({
      statusCode: 400,
      isRetryable: false,
      message: expect.stringContaining("'temperature'"),
    });
  });
});
