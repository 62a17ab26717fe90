import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AnthropicProvider, createAnthropic } from "@ai-sdk/anthropic";
import { APICallError, generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { type AgentNode, agentModel, agentNode, plainAnswer } from "../support/agent-node.ts";
import { rejectionOf } from "../support/rejection.ts";

let node: AgentNode;
let provider: AnthropicProvider;

beforeAll(async () => {
  node = await agentNode({ light: { room: "attic" } }, { env: { PADDOCK_API_KEYS: "a-good-key" } });
  provider = createAnthropic({ baseURL: node.baseUrl, apiKey: "a-good-key" });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

const question = () => ({ model: provider(agentModel), prompt: "Do llamas hum?" });

const light = tool({
  description: "Lights a lamp",
  inputSchema: z.object({ room: z.enum(["attic", "cellar"]) }),
  execute: ({ room }) => `lit in the ${room}`,
});

describe("the AI SDK's Anthropic provider against a listening node", () => {
  test("generates a text that is not streamed", async () => {
    const { text, finishReason, usage } = await generateText(question());
    expect([text, finishReason]).toEqual([plainAnswer, "stop"]);
    expect(usage.outputTokens).toBeGreaterThan(0);
  });

  test("streams a text", async () => {
    const { textStream } = streamText(question());
    const pieces = await Array.fromAsync(textStream);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toBe(plainAnswer);
  });

  test("calls a tool, sends its result back and gets an answer from it", async () => {
    const { steps, text } = await generateText({
      ...{ model: provider(agentModel), prompt: "Light the lamp of note.txt." },
      tools: { light },
      stopWhen: isStepCount(3),
    });
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(text).toBe("The tool says: lit in the attic");
  });

  test("says at once that a key is wrong, and that a model is not there", async () => {
    const stranger = createAnthropic({ baseURL: node.baseUrl, apiKey: "a-wrong-key" });
    const refused = await rejectionOf(generateText({ model: stranger(agentModel), prompt: "a" }));
    expect(APICallError.isInstance(refused)).toBe(true);
    expect(refused).toMatchObject({ statusCode: 401, isRetryable: false });
    const unknown = await rejectionOf(generateText({ model: provider("nobody"), prompt: "a" }));
    expect(unknown).toMatchObject({ statusCode: 404, isRetryable: false });
  });
});
