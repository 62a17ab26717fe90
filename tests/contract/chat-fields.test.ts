import { expect, test } from "bun:test";
import { fieldsOf } from "../../scripts/field-docs.ts";
import { decodeError } from "../support/decode.ts";
import {
  type FieldOutcome,
  type FieldRequests,
  omit,
  propertiesOf,
  unnamed,
  walkFields,
} from "../support/field-examples.ts";
import { read } from "../support/repository-text.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";
import { examples } from "./examples/chat.ts";

const described = fieldsOf("createChatCompletion");

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

const app = testApp({ vision: true });

/** What comes of a request: the status, what the engine was asked, and the answer but for its id and time. */
async function outcome(body: object): Promise<FieldOutcome> {
  app.chat.requests.splice(0);
  for (let answer = 0; answer < 2; answer++) app.chat.script({ type: "text", text: "Hi" }, finish);
  const response = await app.post("/v1/chat/completions", body);
  const text = (await response.text()).replaceAll(/"(id|created)":("[^"]*"|\d+)/g, "");
  return {
    ignored: response.headers.get("x-paddock-ignored"),
    seen: { status: response.status, asked: [...app.chat.requests], text },
  };
}

walkFields({
  called: "chat",
  examples,
  described,
  requestsWith,
  outcome,
  async expectRejection(body, as) {
    app.chat.requests.splice(0);
    const response = await app.post("/v1/chat/completions", body);
    expect(response.status).toBe(400);
    const { param } = await decodeError(response);
    // The field itself, or the part of it that is at fault.
    expect(/^(messages\[\d+\]\.)?\w+/.exec(param ?? "")?.[0]).toBe(as);
    expect(app.chat.requests).toEqual([]);
  },
});

test("no field of the OpenAI API's request, its stream options and its messages is unnamed", async () => {
  const types = await read("node_modules/openai/resources/chat/completions/completions.d.ts");
  const shared = await read("node_modules/openai/resources/shared.d.ts");
  const request = propertiesOf(types, "ChatCompletionCreateParamsBase");
  const roles = ["System", "Developer", "User", "Assistant", "Tool", "Function"];
  const messages = roles.flatMap((role) =>
    propertiesOf(types, `ChatCompletion${role}MessageParam`),
  );
  const options = propertiesOf(types, "ChatCompletionStreamOptions");
  const functions = propertiesOf(shared, "FunctionDefinition");
  expect(request.length).toBeGreaterThan(30);
  expect(functions.length).toBeGreaterThan(3);
  expect(
    unnamed(described, [
      ...request,
      ...options.map((name) => `stream_options.${name}`),
      ...messages.map((name) => `messages[].${name}`),
      ...functions.map((name) => `tools[].function.${name}`),
    ]),
  ).toEqual([]);
});
