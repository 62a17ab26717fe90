import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AIMessageChunk, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
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

const chat = (logit_bias: Record<string, number>, maxTokens = 80): ChatOpenAI =>
  new ChatOpenAI({
    model: "tiny-chat",
    apiKey: "any",
    configuration: { baseURL: node.baseUrl },
    maxTokens,
    maxRetries: 0,
    modelKwargs: { logit_bias },
  });
/** The one answer is "A", as often as there is room for. */
const onlyA = { 291: 100 };
/** No white space between JSON's parts: a line break, a space as a word's beginning and as a byte. */
const compact = { 13: -100, 353: -100, 35: -100 };

const Lamp = z.object({ room: z.enum(["attic", "cellar"]), level: z.int().min(1).max(9) });

const light = tool(({ room, level }: z.infer<typeof Lamp>) => `${room} at ${level}`, {
  name: "light",
  description: "Lights a lamp",
  schema: Lamp,
});

describe("LangChain against a listening node", () => {
  test("invokes, with a system message, and gets the reason and the tokens", async () => {
    const answer = await chat(onlyA, 4).invoke([
      new SystemMessage("Be brief."),
      new HumanMessage("Hello"),
    ]);
    expect(answer.text).toBe("AAAA");
    expect(answer.response_metadata.finish_reason).toBe("length");
    expect(answer).toMatchObject({ usage_metadata: { output_tokens: 4 } });
  });

  test("streams, and the last chunk has the tokens", async () => {
    const chunks = await Array.fromAsync(await chat(onlyA, 4).stream("Hello"));
    expect(chunks.map(({ text }) => text).join("")).toBe("AAAA");
    // The first token comes at once, later ones may come together.
    expect(chunks.find(({ text }) => text !== "")?.text).toBe("A");
    expect(chunks.findLast(({ usage_metadata: usage }) => usage)?.usage_metadata).toMatchObject({
      output_tokens: 4,
    });
  });

  test.each(["jsonSchema", "functionCalling"] as const)(
    "gets structured output by the method %s",
    async (method) => {
      const structured = chat(compact).withStructuredOutput(Lamp, { name: "lamp", method });
      const lamp: unknown = await structured.invoke("Light?");
      expect(Lamp.safeParse(lamp).success).toBe(true);
    },
  );

  test("calls the bound tool that it names", async () => {
    const bound = chat(compact).bindTools([light], { tool_choice: "light" });
    const { tool_calls: calls = [] } = await bound.invoke("Light?");
    expect(calls).toHaveLength(1);
    expect(calls[0]?.name).toBe("light");
    expect(Lamp.safeParse(calls[0]?.args).success).toBe(true);
  });

  test("calls a bound tool in a stream, whose chunks add up", async () => {
    const bound = chat(compact).bindTools([light], { tool_choice: "required" });
    const chunks = await Array.fromAsync(await bound.stream("Light?"));
    const whole = chunks.reduce((sum, chunk) => sum.concat(chunk), new AIMessageChunk(""));
    expect(chunks.length).toBeGreaterThan(2);
    expect(whole.tool_calls).toHaveLength(1);
    expect(Lamp.safeParse(whole.tool_calls?.[0]?.args).success).toBe(true);
  });

  test("sends a tool's result back and gets a text", async () => {
    const question = new HumanMessage("Light?");
    const asking = await chat(compact)
      .bindTools([light], { tool_choice: "required" })
      .invoke([question]);
    const [call] = asking.tool_calls ?? [];
    if (call?.id === undefined) throw new Error("The answer has no call with an id");
    const result = await light.invoke(Lamp.parse(call.args));
    const answer = await chat(onlyA, 4)
      .bindTools([light])
      .invoke([question, asking, new ToolMessage({ content: result, tool_call_id: call.id })]);
    expect(answer.text).toBe("AAAA");
    expect(answer.tool_calls).toEqual([]);
  });

  test("embeds a query and documents, with the same vectors", async () => {
    const embeddings = new OpenAIEmbeddings({
      model: "tiny-embedding",
      apiKey: "any",
      configuration: { baseURL: node.baseUrl },
    });
    const query = await embeddings.embedQuery("hello");
    const documents = await embeddings.embedDocuments(["hello", "good bye"]);
    expect(query).toHaveLength(32);
    expect(documents).toHaveLength(2);
    const apart = query.map((value, at) => Math.abs(value - (documents[0]?.[at] ?? 9)));
    expect(Math.max(...apart)).toBeLessThan(1e-5);
  });

  test("gets an error that names the field", async () => {
    const hot = new ChatOpenAI({
      model: "tiny-chat",
      apiKey: "any",
      configuration: { baseURL: node.baseUrl },
      temperature: 9,
    });
    expect(await rejectionOf(hot.invoke("Hello"))).toMatchObject({
      status: 400,
      param: "temperature",
    });
  });
});
