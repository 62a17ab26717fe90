import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { fieldsOf } from "../../scripts/field-docs.ts";
import { propertiesOf, unnamed, walkFields } from "../support/field-examples.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";
import {
  chatExamples,
  embeddingsExamples,
  embedExamples,
  generateExamples,
  showExamples,
} from "./examples/ollama.ts";

type Json = { [name: string]: unknown };

const called = (id: string, name: string) => ({ id, function: { name, arguments: {} } });

/** A conversation in which every field of a message has its place. */
const messages = [
  { role: "user", content: "Hello" },
  { role: "assistant", tool_calls: [called("call_a", "look_up"), called("call_b", "hear")] },
  { role: "tool", content: "Found" },
  { role: "tool", content: "Heard" },
];
const tools = [{ type: "function", function: { name: "look_up" } }];

/** The message that has a field. */
const placeOf: Readonly<Record<string, number>> = {
  ...{ tool_calls: 0, thinking: 1, tool_call_id: 2, tool_name: 2 },
};

const chatBeside = { top_logprobs: { logprobs: true }, tools: { tools } };

/** Each table, the operation that it is about, and what its fields mean nothing without. */
const tables = [
  {
    ...{ called: "Ollama's chat", path: "/api/chat", examples: chatExamples },
    described: fieldsOf("ollamaChat"),
    base: { model: "chatty", messages },
    beside: chatBeside,
  },
  {
    ...{ called: "Ollama's generate", path: "/api/generate", examples: generateExamples },
    described: fieldsOf("ollamaGenerate"),
    base: { model: "chatty", prompt: "Hello" },
    beside: chatBeside,
  },
  {
    ...{ called: "Ollama's embed", path: "/api/embed", examples: embedExamples },
    described: fieldsOf("ollamaEmbed"),
    base: { model: "vectors", input: "Hello there, you" },
    beside: {},
  },
  {
    ...{ called: "Ollama's embeddings", path: "/api/embeddings", examples: embeddingsExamples },
    described: fieldsOf("ollamaEmbeddings"),
    base: { model: "vectors", prompt: "Hello" },
    beside: {},
  },
  {
    ...{ called: "Ollama's show", path: "/api/show", examples: showExamples },
    described: fieldsOf("ollamaShow"),
    base: { model: "chatty" },
    beside: { name: { model: null } },
  },
] as const;

type Table = (typeof tables)[number];

/** A field that is not there has the value of another, where it must be there. */
const without: Json = { model: "others", input: "Hello", "messages[].role": "system" };

function requestsWith({ base, beside, path }: Table, field: string, value: unknown) {
  const [outer = ""] = field.split(/\[|\./);
  const own: unknown = Reflect.get(beside, outer);
  const whole = { ...base, ...(field === "tools" ? {} : Object(own)) };
  const [, inner = ""] = /^messages\[\]\.(\w+)$/.exec(field) ?? [];
  const at = inner === "" ? 0 : (placeOf[inner] ?? 0);
  const as = field.replaceAll("[]", `[${at}]`);
  const steps = as.split(/[.[\]]+/).filter((step) => step !== "");
  // Chats have one model here.
  const absent = field === "model" && path !== "/api/embed" ? "chatty" : without[field];
  return {
    with: changed(whole, steps, value),
    without: changed(whole, steps, absent),
    as,
  };
}

function changed(body: Json, steps: readonly string[], value: unknown): Json {
  const copy: Json = structuredClone(body);
  let at: unknown = copy;
  for (const step of steps.slice(0, -1)) {
    const inner: unknown = Reflect.get(Object(at), step) ?? {};
    Reflect.set(Object(at), step, inner);
    at = inner;
  }
  const last = steps.at(-1) ?? "";
  if (value === undefined) Reflect.deleteProperty(Object(at), last);
  else Reflect.set(Object(at), last, value);
  return copy;
}

const app = testApp({ vision: true });
const logprobs = [{ token: "Hi", logprob: -1, bytes: [72, 105], top: [] }];
const asked = () => [
  ...app.chat.completions.splice(0),
  ...app.chat.requests.splice(0),
  ...app.embedding.requests.splice(0),
];

async function outcome(path: string, body: object) {
  asked();
  const events = [
    { type: "reasoning", text: "Hm" },
    { type: "text", text: "Hi", logprobs },
  ] as const;
  app.chat.script(...events, finish);
  const response = await app.post(path, body);
  const text = (await response.text()).replaceAll(/"(created_at|\w+_duration)":("[^"]*"|\d+)/g, "");
  return {
    ignored: response.headers.get("x-paddock-ignored"),
    seen: { status: response.status, asked: asked(), text },
  };
}

for (const table of tables) {
  walkFields({
    ...table,
    requestsWith: (field, value) => requestsWith(table, field, value),
    outcome: (body) => outcome(table.path, body),
    // Cutting a text that is not too long changes nothing.
    isAlike: (field) => ["truncate", "tools[].type"].includes(field),
    async expectRejection(body, as) {
      asked();
      const response = await app.post(table.path, body);
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({ error: expect.stringContaining(as) });
      expect(asked()).toEqual([]);
    },
  });
}

describe("no field of Ollama's package is unnamed", async () => {
  const path = join(import.meta.dir, "..", "..", "node_modules/ollama/dist/browser.d.ts");
  const types = (await Bun.file(path).text()).replaceAll(/^interface /gm, "export interface ");
  const under = (place: string, name: string): string[] =>
    propertiesOf(types, name).map((field) => `${place}${field}`);

  test.each([
    {
      operation: "ollamaChat",
      fields: [
        ...under("", "ChatRequest"),
        ...under("options.", "Options"),
        ...under("messages[].", "Message"),
      ],
    },
    {
      operation: "ollamaGenerate",
      fields: [...under("", "GenerateRequest"), ...under("options.", "Options")],
    },
    { operation: "ollamaEmbed", fields: under("", "EmbedRequest") },
    { operation: "ollamaEmbeddings", fields: under("", "EmbeddingsRequest") },
    { operation: "ollamaShow", fields: under("", "ShowRequest") },
  ])("$operation", ({ operation, fields }) => {
    expect(fields.length).toBeGreaterThan(3);
    expect(unnamed(fieldsOf(operation), fields)).toEqual([]);
  });
});
