import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createOpenAICompatible, type OpenAICompatibleProvider } from "@ai-sdk/openai-compatible";
import {
  APICallError,
  embed,
  embedMany,
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
let provider: OpenAICompatibleProvider;

beforeAll(async () => {
  node = await tinyNode();
  provider = createOpenAICompatible({
    name: "paddock",
    baseURL: node.baseUrl,
    apiKey: "any",
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** A question to the tiny chat model, with more of the OpenAI API's fields. */
const ask = (logit_bias: Record<string, number>) => ({
  model: provider.chatModel("tiny-chat"),
  prompt: "Light?",
  providerOptions: { paddock: { logit_bias } },
});
/** The one answer is "A", as often as there is room for. */
const onlyA = { 291: 100 };
/** No white space between JSON's parts: a line break, a space as a word's beginning and as a byte. */
const compact = { 13: -100, 353: -100, 35: -100 };

const Lamp = z.object({ room: z.enum(["attic", "cellar"]), level: z.int().min(1).max(9) });

const light = tool({
  description: "Lights a lamp",
  inputSchema: Lamp,
  execute: ({ room, level }) => `${room} at ${level}`,
});

describe("the AI SDK against a listening node", () => {
  test("generates a text, with its reason and its tokens", async () => {
    const answer = await generateText({ ...ask(onlyA), maxOutputTokens: 4 });
    expect(answer.text).toBe("AAAA");
    expect(answer.finishReason).toBe("length");
    expect(answer.usage.outputTokens).toBe(4);
    expect(answer.warnings).toEqual([]);
  });

  test("streams a text, with its reason and its tokens", async () => {
    const answer = streamText({ ...ask(onlyA), maxOutputTokens: 4 });
    // The first token comes at once, later ones may come together.
    const [first, ...rest] = await Array.fromAsync(answer.textStream);
    expect([first, rest.join("")]).toEqual(["A", "AAA"]);
    expect(await answer.finishReason).toBe("length");
    expect((await answer.usage).outputTokens).toBe(4);
  });

  test("leaves a stream in the middle, and the node goes on", async () => {
    const leave = new AbortController();
    const answer = streamText({
      ...ask(onlyA),
      maxOutputTokens: 1500,
      abortSignal: leave.signal,
    });
    const seen: string[] = [];
    for await (const part of answer.stream) {
      if (part.type === "text-delta") leave.abort();
      seen.push(part.type);
    }
    expect(seen.at(-1)).toBe("abort");
    const next = await generateText({ ...ask(onlyA), maxOutputTokens: 2 });
    expect(next.text).toBe("AA");
  });

  test("generates an object by a schema", async () => {
    const { object, finishReason } = await generateObject({ ...ask(compact), schema: Lamp });
    expect(Lamp.safeParse(object).success).toBe(true);
    expect(finishReason).toBe("stop");
  });

  test("generates an object as a text's output, whole and in a stream", async () => {
    const asked = { ...ask(compact), output: Output.object({ schema: Lamp }) };
    const whole = await generateText(asked);
    expect(Lamp.safeParse(whole.output).success).toBe(true);
    const streamed = streamText(asked);
    const partial = await Array.fromAsync(streamed.partialOutputStream);
    expect(partial.at(-1)).toEqual(await streamed.output);
  });

  test("calls the tool that it names, with arguments by its schema", async () => {
    const { toolCalls, toolResults, finishReason } = await generateText({
      ...ask(compact),
      tools: { light, dark: tool({ inputSchema: z.object({}) }) },
      toolChoice: { type: "tool", toolName: "light" },
    });
    expect(finishReason).toBe("tool-calls");
    expect(toolCalls).toHaveLength(1);
    const { room, level } = Lamp.parse(toolCalls[0]?.input);
    expect(toolResults).toMatchObject([{ toolName: "light", output: `${room} at ${level}` }]);
  });

  test("calls a tool in a stream, with arguments that grow", async () => {
    const answer = streamText({ ...ask(compact), tools: { light }, toolChoice: "required" });
    let grown = "";
    for await (const part of answer.stream) {
      if (part.type === "tool-input-delta") grown += part.delta;
    }
    const [call] = await answer.toolCalls;
    expect(call).toMatchObject({ toolName: "light", input: JSON.parse(grown) });
    expect(await answer.finishReason).toBe("tool-calls");
  });

  test("sends a tool's result back and gets a text, in a run of two steps", async () => {
    const { steps, text } = await generateText({
      ...ask(compact),
      maxOutputTokens: 60,
      tools: { light },
      stopWhen: isStepCount(2),
      prepareStep: ({ stepNumber }) =>
        stepNumber === 0
          ? { toolChoice: "required" }
          : { toolChoice: "none", providerOptions: { paddock: { logit_bias: onlyA } } },
    });
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "length"]);
    expect(text).toBe("A".repeat(60));
  });

  test("embeds one value and many, with the same vectors", async () => {
    const model = provider.embeddingModel("tiny-embedding");
    const { embedding, usage } = await embed({ model, value: "hello" });
    const { embeddings } = await embedMany({ model, values: ["hello", "good bye"] });
    expect(embedding).toHaveLength(32);
    expect(usage.tokens).toBeGreaterThan(0);
    expect(embeddings).toHaveLength(2);
    expect(
      Math.max(...embedding.map((value, at) => Math.abs(value - (embeddings[0]?.[at] ?? 9)))),
    ).toBeLessThan(1e-5);
  });

  test("gets an error with the node's own words, and does not ask again", async () => {
    const refused = await rejectionOf(generateText({ ...ask(onlyA), temperature: 9 }));
    expect(APICallError.isInstance(refused)).toBe(true);
    expect(refused).toMatchObject({
      statusCode: 400,
      isRetryable: false,
      message: expect.stringContaining("'temperature'"),
    });
  });
});
