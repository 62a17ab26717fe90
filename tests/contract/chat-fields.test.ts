import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ChatCompletionRequest } from "../../src/server/operations/chat/schema.ts";
import { Message } from "../../src/server/wire/message-schema.ts";
import { decodeError } from "../support/decode.ts";
import {
  type FieldOutcome,
  type FieldRequests,
  fieldsTable,
  walkFields,
} from "../support/fields-table.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";

const read = (path: string): Promise<string> =>
  Bun.file(join(import.meta.dir, "..", "..", path)).text();

const table = fieldsTable(await read("docs/reference/chat-fields.md"));
const { rows } = table;

/** A conversation in which every field of a message has its place. */
const conversation = [
  { role: "user", content: "Hello" },
  {
    role: "assistant",
    content: "I look.",
    tool_calls: [
      { id: "call_1", type: "function", function: { name: "look_up", arguments: "{}" } },
    ],
  },
  { role: "tool", tool_call_id: "call_1", content: "Found" },
];
/** The same in the API's older form, where the field is of that form. */
const olderConversation = [
  { role: "user", content: "Hello" },
  { role: "assistant", content: "I look." },
  { role: "function", name: "look_up", content: "Found" },
];
const placeOf = (field: string): number => {
  if (["role", "content", "name"].includes(field)) return 0;
  return field === "tool_call_id" ? 2 : 1;
};

/** What a field means nothing without. */
const tools = [{ type: "function", function: { name: "look_up" } }];
const beside: Readonly<Record<string, object>> = {
  top_logprobs: { logprobs: true },
  tool_choice: { tools },
  parallel_tool_calls: { tools },
  function_call: { functions: [{ name: "look_up" }] },
  stream_options: { stream: true },
};

/** A request whose field has the value, the same without the field, and the field's name on the wire. */
function requestsWith(field: string, value: unknown): FieldRequests {
  const base = { model: "chatty", messages: conversation };
  const [outer = "", inner] = field.split(/(?:\[\])?\./);
  if (inner === undefined) {
    const whole = { ...base, ...beside[field] };
    return { with: { ...whole, [field]: value }, without: omit(whole, field), as: field };
  }
  if (outer === "messages") {
    const at = placeOf(inner);
    const said = inner === "function_call" ? olderConversation : conversation;
    const change = (to: (message: object) => object): object => ({
      ...base,
      messages: said.map((message, index) => (index === at ? to(message) : message)),
    });
    return {
      with: change((message) => ({ ...message, [inner]: value })),
      without: change((message) => omit(message, inner)),
      as: `messages[${at}].${inner}`,
    };
  }
  const whole = { ...base, ...beside[outer] };
  return {
    with: { ...whole, [outer]: { [inner]: value } },
    without: { ...whole, [outer]: {} },
    as: field,
  };
}

const omit = (value: object, key: string): object =>
  Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));

/** What comes of a request: the status, what the engine was asked, and the answer but for its id and time. */
async function outcome(body: object): Promise<FieldOutcome> {
  const app = testApp();
  for (let answer = 0; answer < 2; answer++) app.chat.script({ type: "text", text: "Hi" }, finish);
  const response = await app.post("/v1/chat/completions", body);
  const text = (await response.text()).replaceAll(/"(id|created)":("[^"]*"|\d+)/g, "");
  return {
    ignored: response.headers.get("x-paddock-ignored"),
    seen: { status: response.status, asked: app.chat.requests, text },
  };
}

walkFields({
  called: "chat fields",
  table,
  requestsWith,
  outcome,
  async expectRefusal(body, as) {
    const app = testApp();
    const response = await app.post("/v1/chat/completions", body);
    expect(response.status).toBe(400);
    const { param } = await decodeError(response);
    // The field itself, or the part of it that is at fault.
    expect(/^(messages\[\d+\]\.)?\w+/.exec(param ?? "")?.[0]).toBe(as);
    expect(app.chat.requests).toEqual([]);
  },
});

describe("the handbook's table of chat fields has a row for every field", () => {
  const named = new Set(rows.map(({ field }) => field));
  const missing = (fields: readonly string[]): string[] =>
    fields.filter((name) => !named.has(name));
  const inMessages = (name: string): string => `messages[].${name}`;
  const inOptions = (name: string): string => `stream_options.${name}`;

  test("of the OpenAI API's request, its stream options and its messages", async () => {
    const types = await read("node_modules/openai/resources/chat/completions/completions.d.ts");
    const request = fieldsOf(types, "ChatCompletionCreateParamsBase");
    const options = fieldsOf(types, "ChatCompletionStreamOptions");
    const messages = ["System", "Developer", "User", "Assistant", "Tool", "Function"].flatMap(
      (role) => fieldsOf(types, `ChatCompletion${role}MessageParam`),
    );
    expect(request.length).toBeGreaterThan(30);
    expect(missing([...request, ...options.map(inOptions), ...messages.map(inMessages)])).toEqual(
      [],
    );
  });

  test("of the node's own schema", () => {
    const { properties } = ChatCompletionRequest;
    const [options] = properties.stream_options.anyOf;
    expect(
      missing([
        ...Object.keys(properties),
        ...Object.keys(options.properties).map(inOptions),
        ...Object.keys(Message.properties).map(inMessages),
      ]),
    ).toEqual([]);
  });
});

/** The names of an exported interface's own properties; nested ones are indented further. */
function fieldsOf(types: string, name: string): string[] {
  const [, body] = new RegExp(`^export interface ${name} \\{\\n(.*?)^\\}`, "ms").exec(types) ?? [];
  if (body === undefined) throw new Error(`The OpenAI API's types have no ${name}`);
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, field = ""]) => field);
}
