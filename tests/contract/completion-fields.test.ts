import { describe, expect, test } from "bun:test";
import { fieldsOf } from "../../scripts/field-docs.ts";
import { decodeError } from "../support/decode.ts";
import { changed, omit, propertiesOf, unnamed, walkFields } from "../support/field-examples.ts";
import { read } from "../support/repository-text.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";
import { examples } from "./examples/completion.ts";
import { detokenizeExamples, tokenizeExamples } from "./examples/tokenize.ts";

/** A conversation in which every field of a message has its place. */
const conversation = {
  prompt: null,
  messages: [
    { role: "user", content: "Hello" },
    {
      role: "assistant",
      content: "I look.",
      tool_calls: [
        { id: "call_1", type: "function", function: { name: "look_up", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: "Found" },
  ],
  tools: [{ type: "function", function: { name: "look_up" } }],
};

/** The steps to a field of a message or a tool, and its name on the wire. */
function placeIn(field: string): { steps: (string | number)[]; as: string } {
  const [, list = "", inner = ""] = /^(\w+)\[\]\.(.+)$/.exec(field) ?? [];
  const ofUser = list === "tools" || ["role", "content", "name"].includes(inner);
  const at = ofUser ? 0 : inner === "tool_call_id" ? 2 : 1;
  return { steps: [list, at, ...inner.split(".")], as: `${list}[${at}].${inner}` };
}

const logprobs = [{ token: "Hi", logprob: -1, bytes: [72, 105], top: [] }];

/** Each table, the operation that it is about, and what its fields mean nothing without. */
const tables = [
  {
    called: "a completion",
    path: "/v1/completions",
    examples,
    described: fieldsOf("createCompletion"),
    base: { model: "chatty", prompt: "Hello" },
    beside: { stream_options: { stream: true } },
  },
  {
    called: "tokenising",
    path: "/v1/tokenize",
    examples: tokenizeExamples,
    described: fieldsOf("tokenize"),
    base: { model: "chatty", prompt: "<s>Hello" },
    beside: {
      content: { prompt: null },
      messages: { prompt: null },
      ...Object.fromEntries(
        ["tools", "add_generation_prompt", "continue_final_message"].map((name) => [
          name,
          { prompt: null, messages: [{ role: "user", content: "Hello" }] },
        ]),
      ),
    },
  },
  {
    called: "detokenising",
    path: "/v1/detokenize",
    examples: detokenizeExamples,
    described: fieldsOf("detokenize"),
    base: { model: "chatty", tokens: [5] },
    beside: {},
  },
] as const;

type Table = (typeof tables)[number];

/** A request whose field has the value, the same without the field, and the field's name on the wire. */
function requestsWith({ base, beside }: Table, field: string, value: unknown) {
  if (field.includes("[]")) {
    const { steps, as } = placeIn(field);
    const body = { ...base, ...conversation };
    return { with: changed(body, steps, value), without: changed(body, steps, undefined), as };
  }
  const [outer = "", inner] = field.split(".");
  const whole = { ...base, ...Reflect.get(beside, outer) };
  if (inner === undefined) {
    return { with: { ...whole, [field]: value }, without: omit(whole, field), as: field };
  }
  return {
    with: { ...whole, [outer]: { [inner]: value } },
    without: { ...whole, [outer]: {} },
    as: field,
  };
}

const app = testApp();
/** What the engine was asked since this was called before. */
const asked = () => ({
  completions: app.chat.completions.splice(0),
  tokenized: app.chat.tokenized.splice(0),
});

/** What comes of a request: the status, what the engine was asked, and the answer but for its id and time. */
async function outcome(path: string, body: object) {
  asked();
  for (let answer = 0; answer < 2; answer++) {
    app.chat.script({ type: "text", text: "Hi", logprobs }, finish);
  }
  const response = await app.post(path, body);
  const text = (await response.text()).replaceAll(/"(id|created)":("[^"]*"|\d+)/g, "");
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
    async expectRejection(body, as) {
      asked();
      const response = await app.post(table.path, body);
      expect(response.status).toBe(400);
      expect((await decodeError(response)).param).toBe(as);
      expect(asked()).toEqual({ completions: [], tokenized: [] });
    },
  });
}

describe("no field is unnamed", () => {
  const [completions, tokenize, detokenize] = tables;

  test("of the OpenAI API's completion", async () => {
    const types = await read("node_modules/openai/resources/completions.d.ts");
    const chat = await read("node_modules/openai/resources/chat/completions/completions.d.ts");
    const request = propertiesOf(types, "CompletionCreateParamsBase");
    const options = propertiesOf(chat, "ChatCompletionStreamOptions");
    expect(request.length).toBeGreaterThan(16);
    expect(
      unnamed(completions.described, [
        ...request,
        ...options.map((name) => `stream_options.${name}`),
      ]),
    ).toEqual([]);
  });

  test("of vLLM's requests, by its protocol's sources (0.11)", () => {
    const fields = [
      "model",
      "prompt",
      "add_special_tokens",
      "return_token_strs",
      "messages",
      "add_generation_prompt",
      "continue_final_message",
      "chat_template",
      "chat_template_kwargs",
      "mm_processor_kwargs",
      "tools",
      // Of its chat, and sent along by callers who count what they will ask.
      "documents",
    ];
    expect(unnamed(tokenize.described, fields)).toEqual([]);
    expect(unnamed(detokenize.described, ["model", "tokens"])).toEqual([]);
  });
});
