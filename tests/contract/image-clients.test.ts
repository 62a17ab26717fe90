/** Clients that people use send images to a node in front of a server whose model reads them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { generateText } from "ai";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { frontKey, frontModel } from "../support/front-of-servers.ts";
import { encodedImage, imageBytes, imageUrl } from "../support/images.ts";
import { recordedVllm } from "../support/recorded-vllm.ts";
import { listeningNode, type TinyNode } from "../support/tiny-node.ts";

const resources = new AsyncDisposableStack();
let node: TinyNode;
let origin: string;

beforeAll(async () => {
  const server = resources.use(recordedVllm({ key: frontKey, vision: true }));
  node = resources.use(
    await listeningNode(`[vectorstore]\nhandbook = false\n${frontModel("chat", server.url)}`, {
      FAR_KEY: frontKey,
    }),
  );
  origin = new URL(node.baseUrl).origin;
});
afterAll(() => resources.disposeAsync());

const model = "far-chat";
const apiKey = "any";
const data = encodedImage();
const seen = "user: (image/png, 40 bytes)What is it?";

/** A question with an image, as the AI SDK has it. */
const messages = [
  {
    role: "user" as const,
    content: [
      { type: "file" as const, mediaType: "image/png", data: imageBytes() },
      { type: "text" as const, text: "What is it?" },
    ],
  },
];

const clients: Record<string, () => Promise<unknown>> = {
  async openai() {
    const client = new OpenAI({ baseURL: node.baseUrl, apiKey });
    const image_url = { url: imageUrl() };
    const content = [
      { type: "image_url" as const, image_url },
      { type: "text" as const, text: "What is it?" },
    ];
    const answer = await client.chat.completions.create({
      model,
      messages: [{ role: "user", content }],
    });
    return answer.choices[0]?.message.content;
  },
  async "@anthropic-ai/sdk"() {
    const client = new Anthropic({ baseURL: origin, apiKey });
    const source = { type: "base64" as const, media_type: "image/png" as const, data };
    const content = [
      { type: "image" as const, source },
      { type: "text" as const, text: "What is it?" },
    ];
    const answer = await client.messages.create({
      ...{ model, max_tokens: 9 },
      messages: [{ role: "user", content }],
    });
    return answer.content[0]?.type === "text" ? answer.content[0].text : undefined;
  },
  async ollama() {
    const client = new Ollama({ host: origin });
    const question = { role: "user", content: "What is it?", images: [imageBytes()] };
    return (await client.chat({ model, messages: [question] })).message.content;
  },
  async "@ai-sdk/openai-compatible"() {
    const provider = createOpenAICompatible({ name: "paddock", baseURL: node.baseUrl, apiKey });
    return (await generateText({ model: provider.chatModel(model), messages })).text;
  },
  async "@ai-sdk/openai, by Responses"() {
    const provider = createOpenAI({ baseURL: node.baseUrl, apiKey });
    return (await generateText({ model: provider.responses(model), messages })).text;
  },
  async "@langchain/openai"() {
    const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL: node.baseUrl } });
    const content = [
      { type: "image_url", image_url: { url: imageUrl() } },
      { type: "text", text: "What is it?" },
    ];
    return (await chat.invoke([new HumanMessage({ content })])).text;
  },
};

test.each(Object.entries(clients))("an image is seen that is sent by %s", async (_, ask) => {
  expect(await ask()).toBe(seen);
});
