import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { CompletionRequest } from "../../src/server/operations/completions/schema.ts";
import { DetokenizeRequest, TokenizeRequest } from "../../src/server/operations/tokenize/schema.ts";
import { FunctionTool } from "../../src/server/wire/function-tool.ts";
import { Message } from "../../src/server/wire/message-schema.ts";
import { decodeError } from "../support/decode.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";

const read = (path: string): Promise<string> =>
  Bun.file(join(import.meta.dir, "..", "..", path)).text();

const tableRow = /^\| `(?<field>[^`]+)` \| `(?<name>\w+)` \| `(?<example>[^`]+)` \| [^|]+ \|$/;
const rowsOf = (page: string) =>
  page
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => {
      const { field = "", name = "", example = "" } = tableRow.exec(line)?.groups ?? {};
      return { line, field, name, example };
    });

const omit = (value: object, key: string): object =>
  Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));

const [, tokenizeTable = "", detokenizeTable = ""] = (
  await read("docs/reference/tokenize-fields.md")
).split(/^## .*$/m);

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

function changed(body: object, steps: readonly (string | number)[], value: unknown): object {
  const copy = structuredClone(body);
  let at: unknown = copy;
  for (const step of steps.slice(0, -1)) at = Reflect.get(Object(at), step);
  const last = steps.at(-1) ?? "";
  if (value === undefined) Reflect.deleteProperty(Object(at), last);
  else Reflect.set(Object(at), last, value);
  return copy;
}

const logprobs = [{ token: "Hi", logprob: -1, bytes: [72, 105], top: [] }];

/** Each table, the operation that it is about, and what its fields mean nothing without. */
const tables = [
  {
    called: "a completion",
    path: "/v1/completions",
    rows: rowsOf(await read("docs/reference/completion-fields.md")),
    base: { model: "chatty", prompt: "Hello" },
    beside: { stream_options: { stream: true } },
  },
  {
    called: "tokenising",
    path: "/v1/tokenize",
    rows: rowsOf(tokenizeTable),
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
    rows: rowsOf(detokenizeTable),
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

/** What comes of a request: the status, what the engine was asked, and the answer but for its id and time. */
async function outcome(path: string, body: object) {
  const app = testApp();
  for (let answer = 0; answer < 2; answer++) {
    app.chat.script({ type: "text", text: "Hi", logprobs }, finish);
  }
  const response = await app.post(path, body);
  const text = (await response.text()).replaceAll(/"(id|created)":("[^"]*"|\d+)/g, "");
  const { completions, tokenized } = app.chat;
  return {
    ignored: response.headers.get("x-paddock-ignored"),
    seen: { status: response.status, asked: { completions, tokenized }, text },
  };
}

describe.each(tables.map((table) => [table.called, table] as const))(
  "the handbook's table of fields of %s",
  (_, table) => {
    const ofClass = (wanted: string) => table.rows.filter(({ name }) => name === wanted);

    test("has a class and an example in every row", () => {
      expect(table.rows.filter(({ line }) => !tableRow.test(line))).toEqual([]);
      const classes = ["honoured", "accepted", "ignored", "refused"];
      expect(table.rows.filter(({ name }) => !classes.includes(name))).toEqual([]);
      expect(ofClass("honoured")).not.toEqual([]);
    });

    test.each(ofClass("honoured"))("honours $field: $example", async ({ field, example }) => {
      const requests = requestsWith(table, field, JSON.parse(example));
      const { ignored, seen } = await outcome(table.path, requests.with);
      expect(seen).toMatchObject({ status: 200 });
      expect(ignored).toBeNull();
      expect(seen).not.toEqual((await outcome(table.path, requests.without)).seen);
    });

    for (const name of ["accepted", "ignored"]) {
      const rows = ofClass(name);
      if (rows.length === 0) continue;
      test.each(rows)(`has $field ${name}: $example`, async ({ field, example }) => {
        const requests = requestsWith(table, field, JSON.parse(example));
        const { ignored, seen } = await outcome(table.path, requests.with);
        expect(seen).toMatchObject({ status: 200 });
        expect(ignored).toBe(name === "ignored" ? requests.as : null);
        expect(seen).toEqual((await outcome(table.path, requests.without)).seen);
      });
    }

    const refused = ofClass("refused");
    if (refused.length > 0) {
      test.each(refused)("refuses $field: $example", async ({ field, example }) => {
        const app = testApp();
        const { with: body, as } = requestsWith(table, field, JSON.parse(example));
        const response = await app.post(table.path, body);
        expect(response.status).toBe(400);
        expect((await decodeError(response)).param).toBe(as);
        expect(app.chat.completions).toEqual([]);
        expect(app.chat.tokenized).toEqual([]);
      });
    }
  },
);

describe("the handbook's tables have a row for every field", () => {
  const [completions, tokenize, detokenize] = tables;
  const missing = ({ rows }: Table, fields: readonly string[]): string[] => {
    const named = new Set(rows.map(({ field }) => field));
    return fields.filter((name) => !named.has(name));
  };
  const inMessages = (name: string): string => `messages[].${name}`;
  const inTools = (name: string): string => `tools[].function.${name}`;
  const inOptions = (name: string): string => `stream_options.${name}`;

  test("of the OpenAI API's completion", async () => {
    const types = await read("node_modules/openai/resources/completions.d.ts");
    const chat = await read("node_modules/openai/resources/chat/completions/completions.d.ts");
    const request = fieldsOf(types, "CompletionCreateParamsBase");
    const options = fieldsOf(chat, "ChatCompletionStreamOptions");
    expect(request.length).toBeGreaterThan(16);
    expect(missing(completions, [...request, ...options.map(inOptions)])).toEqual([]);
  });

  test("of vLLM's requests, by its protocol's sources (0.11)", () => {
    expect(
      missing(tokenize, [
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
      ]),
    ).toEqual([]);
    expect(missing(detokenize, ["model", "tokens"])).toEqual([]);
    // Of its chat, and sent along by callers who count what they will ask.
    expect(missing(tokenize, ["documents"])).toEqual([]);
  });

  test("of the OpenAI API's messages and functions", async () => {
    const chat = await read("node_modules/openai/resources/chat/completions/completions.d.ts");
    const shared = await read("node_modules/openai/resources/shared.d.ts");
    const messages = ["System", "Developer", "User", "Assistant", "Tool", "Function"].flatMap(
      (role) => fieldsOf(chat, `ChatCompletion${role}MessageParam`),
    );
    const functions = fieldsOf(shared, "FunctionDefinition");
    expect(functions.length).toBeGreaterThan(3);
    expect(missing(tokenize, [...messages.map(inMessages), ...functions.map(inTools)])).toEqual([]);
  });

  test("of the node's own schemas", () => {
    const { properties } = CompletionRequest;
    const [options] = properties.stream_options.anyOf;
    expect(
      missing(completions, [
        ...Object.keys(properties),
        ...Object.keys(options.properties).map(inOptions),
      ]),
    ).toEqual([]);
    expect(
      missing(tokenize, [
        ...Object.keys(TokenizeRequest.properties),
        ...Object.keys(Message.properties).map(inMessages),
        ...Object.keys(FunctionTool.properties.function.properties).map(inTools),
      ]),
    ).toEqual([]);
    expect(missing(detokenize, Object.keys(DetokenizeRequest.properties))).toEqual([]);
  });
});

/** The names of an exported interface's own properties; nested ones are indented further. */
function fieldsOf(types: string, name: string): string[] {
  const [, body] = new RegExp(`^export interface ${name} \\{\\n(.*?)^\\}`, "ms").exec(types) ?? [];
  if (body === undefined) throw new Error(`The OpenAI API's types have no ${name}`);
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, field = ""]) => field);
}
