/** What is the same whichever API a model is asked by: its thoughts, and what it has evaluated before. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { tinyModels } from "../support/tiny-models.ts";
import { listeningNode, type TinyNode, tinyConfig } from "../support/tiny-node.ts";

let node: TinyNode;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  const { thinker } = await tinyModels();
  node = await listeningNode(`${await tinyConfig()}
[[models]]
name = "tiny-thinker"
type = "chat"
source = ${JSON.stringify(thinker)}
ctx_size = 2048
`);
  openai = new OpenAI({ baseURL: node.baseUrl, apiKey: "any" });
  anthropic = new Anthropic({ baseURL: new URL(node.baseUrl).origin, apiKey: "any" });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** The one answer is "A", as often as there is room for. */
const onlyA = { logit_bias: { 291: 100 } };
/** The likeliest tokens, so that every run has the same ones; these types know of it no more. */
const greedy = { temperature: 0 };

test("a model's thoughts are an item of a response, also in a stream", async () => {
  const asked = { model: "tiny-thinker", input: "Think", max_output_tokens: 4, ...onlyA };
  const response = await openai.responses.create(asked);
  expect(response.output[0]).toMatchObject({
    type: "reasoning",
    content: [{ type: "reasoning_text", text: "AAAA" }],
  });
  expect(response).toMatchObject({
    status: "incomplete",
    output_text: "",
    usage: { output_tokens: 4, output_tokens_details: { reasoning_tokens: 4 } },
  });
  let thoughts = "";
  for await (const event of await openai.responses.create({ ...asked, stream: true })) {
    if (event.type === "response.reasoning_text.delta") thoughts += event.delta;
  }
  expect(thoughts).toBe("AAAA");
});

test("a model's thoughts are a block of a message, also in a stream", async () => {
  const asked = {
    model: "tiny-thinker",
    max_tokens: 8,
    ...greedy,
    messages: [{ role: "user", content: "Think" }],
  } satisfies Anthropic.MessageCreateParamsNonStreaming;
  const thought = { type: "thinking", thinking: expect.stringMatching(/./s) };
  expect((await anthropic.messages.create(asked)).content).toMatchObject([thought]);
  const streamed = await anthropic.messages.stream(asked).finalMessage();
  expect(streamed.content).toMatchObject([thought]);
});

test("a model's thoughts are beside the text in Ollama's API, also in a stream, and may be left out", async () => {
  const ollama = new Ollama({ host: new URL(node.baseUrl).origin });
  const asked = {
    model: "tiny-thinker",
    options: { num_predict: 8, ...greedy },
    messages: [{ role: "user", content: "Think" }],
  };
  const { message } = await ollama.chat(asked);
  expect(message).toMatchObject({ content: "", thinking: expect.stringMatching(/./s) });
  const parts = await Array.fromAsync(await ollama.chat({ ...asked, stream: true }));
  expect(parts.filter((part) => part.message.thinking).length).toBeGreaterThan(1);
  expect(parts.map((part) => part.message.content).join("")).toBe("");
  const without = await ollama.chat({ ...asked, think: false });
  expect(without.message).toEqual({ role: "assistant", content: "" });
  const { capabilities } = await ollama.show({ model: "tiny-thinker" });
  expect(capabilities).toEqual(["completion", "tools", "thinking"]);
});

test("what a chat has evaluated a response reads from the cache, and the other way round", async () => {
  const model = "tiny-chat";
  const said = (system: string) => ({ system, question: "How are you today?" });
  const first = said("Remember this conversation well, please.");
  const chatted = await openai.chat.completions.create({
    ...{ model, max_tokens: 1, ...onlyA },
    messages: [
      { role: "system", content: first.system },
      { role: "user", content: first.question },
    ],
  });
  const response = await openai.responses.create({
    ...{ model, max_output_tokens: 1, ...onlyA },
    ...{ instructions: first.system, input: first.question },
  });
  const evaluated = chatted.usage?.prompt_tokens ?? 0;
  expect(response.usage?.input_tokens).toBe(evaluated);
  expect(response.usage?.input_tokens_details.cached_tokens).toBeGreaterThanOrEqual(evaluated - 1);

  const second = said("Forget everything that was said, every word of it.");
  const asked = await openai.responses.create({
    ...{ model, max_output_tokens: 1, ...onlyA },
    ...{ instructions: second.system, input: second.question },
  });
  const chat = await openai.chat.completions.create({
    ...{ model, max_tokens: 1, ...onlyA },
    messages: [
      { role: "system", content: second.system },
      { role: "user", content: second.question },
      { role: "assistant", content: asked.output_text },
      { role: "user", content: "And now?" },
    ],
  });
  const cached = chat.usage?.prompt_tokens_details?.cached_tokens;
  expect(cached).toBeGreaterThanOrEqual((asked.usage?.input_tokens ?? 0) - 1);
});
