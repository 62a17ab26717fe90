/** Clients of Ollama's API, with nothing changed but their address: its package, LangChain's, and two providers of the AI SDK. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AIMessageChunk, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import {
  ChatOllama,
  type ChatOllamaInput,
  OllamaEmbeddings,
  Ollama as OllamaLlm,
} from "@langchain/ollama";
import { embedMany, generateText, isStepCount, Output, streamText, tool } from "ai";
import { createOllama as createOther } from "ai-sdk-ollama";
import { Ollama, type Tool } from "ollama";
import { createOllama } from "ollama-ai-provider-v2";
import { z } from "zod";
import {
  type AgentNode,
  agentModel,
  agentNode,
  endless,
  plainAnswer,
} from "../support/agent-node.ts";
import { rejectionOf } from "../support/rejection.ts";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

/** Real weights, whose answers only a schema holds to something. */
let tiny: TinyNode;
/** The same, with a model that plays an agent's, for tools. */
let agent: AgentNode;

beforeAll(async () => {
  const env = { PADDOCK_API_KEYS: "a-good-key" };
  [tiny, agent] = await Promise.all([tinyNode(), agentNode({ light: { room: "attic" } }, { env })]);
});
afterAll(async () => {
  await tiny[Symbol.asyncDispose]();
  await agent[Symbol.asyncDispose]();
});

const hostOf = ({ baseUrl }: TinyNode): string => new URL(baseUrl).origin;
const headers = { authorization: "Bearer a-good-key" };
const model = "tiny-chat";
const embedding = "tiny-embedding";

/** The one answer is this text. */
const attic = { enum: ["attic"] };
const Lamp = z.object({ room: z.enum(["attic", "cellar"]), level: z.int().min(1).max(9) });
const question = "Light the lamp of note.txt.";

describe("Ollama's package against a listening node", () => {
  const client = (): Ollama => new Ollama({ host: hostOf(tiny) });
  const messages = [{ role: "user", content: "Hello" }];

  test("chats, whole and in a stream whose pieces add up", async () => {
    const whole = await client().chat({ model, messages, format: attic });
    expect(whole.message).toEqual({ role: "assistant", content: '"attic"' });
    expect([whole.done, whole.done_reason]).toEqual([true, "stop"]);
    const stream = await client().chat({ model, messages, format: attic, stream: true });
    const pieces = await Array.fromAsync(stream);
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.map(({ message }) => message.content).join("")).toBe('"attic"');
    expect(pieces.at(-1)).toMatchObject({
      ...{ done: true, prompt_eval_count: whole.prompt_eval_count, eval_count: whole.eval_count },
    });
    expect(pieces.at(-1)?.total_duration).toBeGreaterThan(pieces.at(-1)?.eval_duration ?? 0);
  });

  test("generates, with a template and raw", async () => {
    const options = { num_predict: 4, temperature: 0, seed: 1 };
    const { response, eval_count } = await client().generate({
      ...{ model: `${model}:latest`, prompt: "Hello", format: "json", options },
    });
    expect(eval_count).toBeLessThanOrEqual(4);
    expect(response).toStartWith("{");
    const raw = { model, prompt: "Hello", raw: true, options, stream: true } as const;
    const pieces = await Array.fromAsync(await client().generate(raw));
    expect(pieces.at(-1)).toMatchObject({ done: true, done_reason: "length", eval_count: 4 });
  });

  test("reports log probabilities", async () => {
    const asked = { model, messages, format: attic, logprobs: true, top_logprobs: 2 };
    const { logprobs = [] } = await client().chat(asked);
    expect(logprobs.map(({ token }) => token).join("")).toBe('"attic"');
    expect(logprobs.every(({ top_logprobs: top }) => (top?.length ?? 0) > 0)).toBe(true);
  });

  test("embeds, and cuts a text that is too long unless it may not", async () => {
    const long = "a ".repeat(20_000);
    const { embeddings } = await client().embed({ model: embedding, input: ["Hello", long] });
    expect(embeddings.map(({ length }) => length)).toEqual([32, 32]);
    const { model_info } = await client().show({ model: embedding });
    const cut = await client().embed({ model: embedding, input: long });
    expect(model_info).toMatchObject({ "bert.context_length": cut.prompt_eval_count });
    const whole = { model: embedding, input: long, truncate: false };
    expect(await rejectionOf(client().embed(whole))).toMatchObject({
      ...{ status_code: 400, error: expect.stringContaining("tokens") },
    });
    const { embedding: one } = await client().embeddings({ model: embedding, prompt: "Hello" });
    expect(one).toHaveLength(32);
  });

  test("lists, shows and counts what is loaded", async () => {
    const { models } = await client().list();
    expect(models.map(({ name }) => name)).toEqual([`${model}:latest`, `${embedding}:latest`]);
    expect(models[0]).toMatchObject({ details: { format: "gguf", family: "llama" } });
    expect(models[0]?.size).toBeGreaterThan(0);
    const running = await client().ps();
    expect(running.models.map(({ digest }) => digest)).toEqual(models.map(({ digest }) => digest));
    const shown = await client().show({ model: models[0]?.name ?? "" });
    expect(shown).toMatchObject({
      ...{ capabilities: ["completion", "tools"], model_info: { "llama.context_length": 2048 } },
    });
    expect((await client().version()).version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test("calls a tool, sends the result back as it does, and gets a text", async () => {
    const node = new Ollama({ host: hostOf(agent), headers });
    const light: Tool = {
      type: "function",
      function: {
        ...{ name: "light", description: "Lights a lamp" },
        parameters: { type: "object", properties: { room: { type: "string" } } },
      },
    };
    const asked = { role: "user", content: question };
    const calling = await node.chat({ model: agentModel, messages: [asked], tools: [light] });
    const [call] = calling.message.tool_calls ?? [];
    expect(call?.function).toMatchObject({ name: "light", arguments: { room: "attic" } });
    const result = { role: "tool", content: "lit", tool_name: "light" };
    const { message } = await node.chat({
      ...{ model: agentModel, messages: [asked, calling.message, result], tools: [light] },
    });
    expect(message.content).toBe("The tool says: lit");
  });

  test("leaves a stream, and the model stops", async () => {
    const node = new Ollama({ host: hostOf(agent), headers });
    const before = agent.agent.abandoned;
    const stream = await node.chat({
      ...{ model: agentModel, messages: [{ role: "user", content: endless }], stream: true },
    });
    for await (const { message } of stream) if (message.content !== "") break;
    stream.abort();
    await waitFor("the model to stop", () => agent.agent.abandoned > before);
  });

  test.each([
    ["pull", (client: Ollama) => client.pull({ model: "a" }), 404, "Name a place on the hub"],
    ["delete", (client: Ollama) => client.delete({ model: "a" }), 404, "model not found"],
    ["chat", (client: Ollama) => client.chat({ model: "a", messages }), 404, "model not found"],
    [
      "chat with an image",
      (client: Ollama) =>
        client.chat({ model, messages: [{ role: "user", content: "a", images: ["AA=="] }] }),
      ...([400, "reads text only, no images"] as const),
    ],
  ])("says what the node says: %s", async (_, ask, status_code, error) => {
    const refused = await rejectionOf(ask(client()));
    expect(refused).toMatchObject({ status_code, error: expect.stringContaining(error) });
  });

  test("says that a key is missing", async () => {
    const stranger = new Ollama({ host: hostOf(agent) });
    const asked = { model: agentModel, messages };
    expect(await rejectionOf(stranger.chat(asked))).toMatchObject({
      ...{ status_code: 401, error: expect.stringContaining("An API key is needed") },
    });
  });

  test("finds Ollama running at the address", async () => {
    expect(await (await fetch(hostOf(tiny))).text()).toBe("Ollama is running");
    expect((await fetch(hostOf(tiny), { method: "HEAD" })).status).toBe(200);
  });
});

describe("LangChain's Ollama package against a listening node", () => {
  const chat = (more: ChatOllamaInput = {}): ChatOllama =>
    new ChatOllama({
      model,
      baseUrl: hostOf(tiny),
      maxRetries: 0,
      checkOrPullModel: true,
      ...more,
    });

  test("invokes, with a system message, and gets the reason and the tokens", async () => {
    const answer = await chat({ format: attic }).invoke([
      new SystemMessage("Be brief."),
      new HumanMessage("Hello"),
    ]);
    expect(answer.text).toBe('"attic"');
    expect(answer.response_metadata).toMatchObject({ done_reason: "stop", model });
    expect(answer).toMatchObject({ usage_metadata: { output_tokens: expect.any(Number) } });
  });

  test("streams, and the chunks add up to the text", async () => {
    const chunks = await Array.fromAsync(await chat({ format: attic }).stream("Hello"));
    expect(chunks.filter(({ text }) => text !== "").length).toBeGreaterThan(1);
    const whole = chunks.reduce((sum, chunk) => sum.concat(chunk), new AIMessageChunk(""));
    expect(whole.text).toBe('"attic"');
  });

  test("gets structured output", async () => {
    const lamp: unknown = await chat().withStructuredOutput(Lamp).invoke("Light?");
    expect(Lamp.safeParse(lamp).success).toBe(true);
  });

  test("calls a bound tool, sends its result back and gets a text", async () => {
    const light = langchainTool(({ room }: { room: string }) => `lit in the ${room}`, {
      ...{ name: "light", description: "Lights a lamp", schema: z.object({ room: z.string() }) },
    });
    const bound = chat({
      model: agentModel,
      baseUrl: hostOf(agent),
      headers: new Headers(headers),
    }).bindTools([light]);
    const asked = new HumanMessage(question);
    const calling = await bound.invoke([asked]);
    const [call] = calling.tool_calls ?? [];
    expect(call).toMatchObject({ name: "light", args: { room: "attic" } });
    const content = await light.invoke({ room: "attic" });
    const result = new ToolMessage({ content, tool_call_id: call?.id ?? "" });
    expect((await bound.invoke([asked, calling, result])).text).toBe(
      "The tool says: lit in the attic",
    );
  });

  test("continues a prompt and embeds texts", async () => {
    const llm = new OllamaLlm({ model, baseUrl: hostOf(tiny), numPredict: 4, maxRetries: 0 });
    expect(await llm.invoke("Hello")).not.toBe("");
    const vectors = new OllamaEmbeddings({ model: embedding, baseUrl: hostOf(tiny) });
    const found = await vectors.embedDocuments(["Hello", "you"]);
    expect(found.map(({ length }) => length)).toEqual([32, 32]);
  });

  test("says at once that a model is not there and cannot be pulled", async () => {
    const refused = await rejectionOf(chat({ model: "nobody" }).invoke("Hello"));
    expect(String(refused)).toContain("Name a place on the hub");
  });
});

const light = tool({
  description: "Lights a lamp",
  inputSchema: z.object({ room: z.enum(["attic", "cellar"]) }),
  execute: ({ room }) => `lit in the ${room}`,
});

describe.each(["ollama-ai-provider-v2", "ai-sdk-ollama"])(
  "the AI SDK with %s against a listening node",
  (name) => {
    const providerOf = (node: TinyNode) =>
      name === "ai-sdk-ollama"
        ? createOther({ baseURL: hostOf(node), headers })
        : createOllama({ baseURL: `${hostOf(node)}/api`, headers });

    test("generates a text that is not streamed", async () => {
      const { text, finishReason, usage } = await generateText({
        ...{ model: providerOf(agent)(agentModel), prompt: "Do llamas hum?" },
      });
      expect([text, finishReason]).toEqual([plainAnswer, "stop"]);
      expect(usage.outputTokens).toBeGreaterThan(0);
    });

    test("streams a text", async () => {
      const { textStream } = streamText({
        ...{ model: providerOf(agent)(agentModel), prompt: "Do llamas hum?" },
      });
      const pieces = await Array.fromAsync(textStream);
      expect(pieces.length).toBeGreaterThan(1);
      expect(pieces.join("")).toBe(plainAnswer);
    });

    test("calls a tool, sends its result back and gets an answer from it", async () => {
      const { steps, text } = await generateText({
        ...{ model: providerOf(agent)(agentModel), prompt: question },
        ...{ tools: { light }, stopWhen: isStepCount(3) },
      });
      expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
      expect(text).toBe("The tool says: lit in the attic");
    });

    test("gets an object that is held to its schema", async () => {
      const { output } = await generateText({
        ...{ model: providerOf(tiny)(model), prompt: "Light?" },
        output: Output.object({ schema: Lamp }),
      });
      expect(Lamp.safeParse(output).success).toBe(true);
    });

    test("embeds texts", async () => {
      const { embeddings } = await embedMany({
        ...{ model: providerOf(tiny).embeddingModel(embedding), values: ["Hello", "you"] },
      });
      expect(embeddings.map(({ length }) => length)).toEqual([32, 32]);
    });

    test("says at once that a model is not there", async () => {
      const asked = { model: providerOf(tiny)("nobody"), prompt: "Hello", maxRetries: 0 };
      const refused = await rejectionOf(generateText(asked));
      expect(JSON.stringify([String(refused), refused])).toContain("is not on this node");
    });
  },
);
