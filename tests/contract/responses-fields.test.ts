import { describe, expect, test } from "bun:test";
import { fieldsOf } from "../../scripts/field-docs.ts";
import { decodeError } from "../support/decode.ts";
import {
  type FieldOutcome,
  type FieldRequests,
  interfaceOf,
  omit,
  propertiesOf,
  unnamed,
  walkFields,
} from "../support/field-examples.ts";
import { read } from "../support/repository-text.ts";
import { finish } from "../support/scripted-engines.ts";
import { type TestApp, testApp } from "../support/test-app.ts";
import { keptResponse } from "../support/test-responses.ts";
import { examples } from "./examples/responses.ts";

const described = fieldsOf("createResponse");

/** A conversation in which every item that is taken has its place. */
const conversation: readonly Record<string, unknown>[] = [
  { role: "user", content: "Good day" },
  { role: "user", content: "Hello" },
  { type: "reasoning", id: "rs_0", summary: [], content: [] },
  { type: "file_search_call", id: "fs_0", queries: ["Hi"], status: "completed" },
  { type: "function_call", call_id: "call_1", name: "look_up", arguments: "{}" },
  { type: "function_call_output", call_id: "call_1", output: "Found" },
];
const placeOf = (type: string): number =>
  type === "message" ? 1 : conversation.findIndex((item) => item.type === type);

const offered: Readonly<Record<string, Record<string, unknown>>> = {
  function: { type: "function", name: "look_up" },
  file_search: { type: "file_search", vector_store_ids: ["vs_default"] },
  namespace: {
    ...{ type: "namespace", name: "garden" },
    tools: [{ type: "function", name: "look_up" }],
  },
};

/** What a field means nothing without. */
const beside: Readonly<Record<string, object>> = {
  top_logprobs: { include: ["message.output_text.logprobs"] },
  include: { tools: [offered.file_search] },
  tool_choice: { tools: [{ type: "function", name: "jump" }, offered.function] },
  parallel_tool_calls: { tools: [offered.function] },
  stream_options: { stream: true },
};

const base = { model: "chatty", input: conversation };

const contentParts: Readonly<Record<string, Record<string, unknown>>> = {
  input_text: { type: "input_text", text: "Hello" },
  output_text: { type: "output_text", text: "Hello" },
  refusal: { type: "refusal", refusal: "Never." },
};

/** The same of a field of a part. */
function partWith(field: string, value: unknown): FieldRequests | undefined {
  const [, item = "", list = "", type = "", inner = ""] =
    /^input\[(\w+)\]\.(\w+)\[(\w+)\]\.(\w+)$/.exec(field) ?? [];
  if (inner === "") return undefined;
  const part = contentParts[type] ?? {};
  const listed = (changed: object): object =>
    requestsWith(`input[${item}].${list}`, [changed]).with;
  return {
    with: listed({ ...part, [inner]: value }),
    without: listed(omit(part, inner)),
    as: `input[${placeOf(item)}].${list}[0].${inner}`,
  };
}

const toolChoices: Readonly<Record<string, Record<string, unknown>>> = {
  function: { type: "function", name: "look_up" },
  file_search: { type: "file_search" },
  allowed_tools: { type: "allowed_tools", mode: "auto", tools: [offered.function] },
};

/** The same of a field of a choice. */
function choiceWith(field: string, value: unknown): FieldRequests | undefined {
  const [, type = "", inner = ""] = /^tool_choice\[(\w+)\]\.(\w+)$/.exec(field) ?? [];
  const choice = toolChoices[type];
  if (choice === undefined) return undefined;
  const tools = [{ type: "function", name: "jump" }, offered.function, offered.file_search];
  const asked = (chosen: object): object => ({ ...base, tools, tool_choice: chosen });
  return {
    with: asked({ ...choice, [inner]: value }),
    without: asked(omit(choice, inner)),
    as: `tool_choice.${inner}`,
  };
}

/** A request whose field has the value, and the same without the field. */
function requestsWith(field: string, value: unknown): FieldRequests {
  const within = partWith(field, value) ?? choiceWith(field, value);
  if (within !== undefined) return within;
  const [, list = "", type = "", inner = ""] = /^(\w+)\[(\w*)\]\.?(\w*)$/.exec(field) ?? [];
  if (list === "input" && type === "") {
    const as = `input[${conversation.length}]`;
    return { with: { ...base, input: [...conversation, value] }, without: base, as };
  }
  if (list === "input") {
    const at = placeOf(type);
    const change = (to: (item: object) => object): object => ({
      ...base,
      input: conversation.map((item, index) => (index === at ? to(item) : item)),
    });
    return {
      with: change((item) => ({ ...item, [inner]: value })),
      without: change((item) => omit(item, inner)),
      as: `input[${at}].${inner}`,
    };
  }
  if (list === "tools" && type === "") {
    return { with: { ...base, tools: [value] }, without: base, as: "tools[0]" };
  }
  if (list === "tools") {
    const tool = offered[type] ?? {};
    return {
      with: { ...base, tools: [{ ...tool, [inner]: value }] },
      without: { ...base, tools: [omit(tool, inner)] },
      as: `tools[0].${inner}`,
    };
  }
  const [outer = "", nested] = field.split(".");
  const whole = { ...base, ...beside[outer] };
  if (nested === undefined) {
    const as = field === "include" ? "include[0]" : field;
    return { with: { ...whole, [field]: value }, without: omit(whole, field), as };
  }
  return {
    with: { ...whole, [outer]: { [nested]: value } },
    without: { ...whole, [outer]: {} },
    as: field,
  };
}

/** The one that the page's examples name. */
const kept = keptResponse(`resp_${"0".repeat(32)}`, {
  body: {
    output: [
      {
        type: "message",
        id: `msg_${"0".repeat(32)}_0`,
        role: "assistant",
        content: [{ type: "output_text", text: "Hello" }],
      },
    ],
  },
});

async function appForField(): Promise<TestApp> {
  const app = testApp({ vision: true });
  await app.responses.responses.keep(kept);
  await app.responses.store.save(keptResponse(`conv_${"0".repeat(32)}`));
  return app;
}

/** For all that end with their answers. */
const shared = await appForField();

/** What comes of a request: the status, what the engine was asked, and the answer but for ids and times. */
async function outcome(body: object): Promise<FieldOutcome> {
  const app = "background" in body ? await appForField() : shared;
  app.chat.requests.splice(0);
  app.chat.script({ type: "text", text: "Hi" }, finish);
  const response = await app.post("/v1/responses", body);
  const text = (await response.text()).replaceAll(
    /"(id|item_id|created_at|completed_at)":("[^"]*"|\d+)/g,
    "",
  );
  return {
    ignored: response.headers.get("x-paddock-ignored"),
    seen: { status: response.status, asked: [...app.chat.requests], text },
  };
}

walkFields({
  called: "a response's request",
  examples,
  described,
  requestsWith,
  outcome,
  async expectRejection(body, as) {
    shared.chat.requests.splice(0);
    const response = await shared.post("/v1/responses", body);
    expect(response.status).toBe(400);
    // The field itself, or the part of it that is at fault.
    expect((await decodeError(response)).param).toStartWith(as);
    expect(shared.chat.requests).toEqual([]);
  },
  // A response repeats what it was asked with.
  repeatsIgnored: true,
});

describe("nothing is unnamed", async () => {
  const types = await read("node_modules/openai/resources/responses/responses.d.ts");
  const common = await read("node_modules/openai/resources/shared.d.ts");
  const missing = (fields: readonly string[]): string[] => unnamed(described, fields);
  const under = (place: string) => (name: string) => `${place}.${name}`;
  /** The types that have an example, in itself or of their fields. */
  const exampleTypes = (list: string): Set<string> => {
    const whole = examples.flatMap(([field, , value]): string[] =>
      field === `${list}[]` ? [Object(value).type ?? "message"] : [],
    );
    const inside = examples.flatMap(([field]) => {
      const [, outer, type = ""] = /^(\w+)\[(\w+)\]/.exec(field) ?? [];
      return outer === list ? [type] : [];
    });
    return new Set([...whole, ...inside]);
  };

  test("of the OpenAI API's request", () => {
    const request = propertiesOf(types, "ResponseCreateParamsBase");
    expect(request.length).toBeGreaterThan(30);
    const options = propertiesOf(types, "ResponseCreateParams.StreamOptions");
    const reasoning = propertiesOf(common, "Reasoning");
    const text = propertiesOf(types, "ResponseTextConfig");
    expect(
      missing([
        ...request,
        ...options.map(under("stream_options")),
        ...reasoning.map(under("reasoning")),
        ...text.map(under("text")),
      ]),
    ).toEqual([]);
  });

  test("of the OpenAI API's items and tools that the node takes", () => {
    const items = {
      message: ["EasyInputMessage", "ResponseInputItem.Message", "ResponseOutputMessage"],
      function_call: ["ResponseFunctionToolCall"],
      function_call_output: ["ResponseInputItem.FunctionCallOutput"],
      reasoning: ["ResponseReasoningItem"],
      file_search_call: ["ResponseFileSearchToolCall"],
    };
    const ofItems = Object.entries(items).flatMap(([type, names]) =>
      names.flatMap((name) => propertiesOf(types, name).map(under(`input[${type}]`))),
    );
    const ofTools = [
      ...propertiesOf(types, "FunctionTool").map(under("tools[function]")),
      ...propertiesOf(types, "FileSearchTool").map(under("tools[file_search]")),
    ];
    const ofChoices = [
      ...propertiesOf(types, "ToolChoiceFunction").map(under("tool_choice[function]")),
      ...propertiesOf(types, "ToolChoiceTypes").map(under("tool_choice[file_search]")),
      ...propertiesOf(types, "ToolChoiceAllowed").map(under("tool_choice[allowed_tools]")),
    ];
    expect(missing([...ofItems, ...ofTools, ...ofChoices])).toEqual([]);
  });

  test("of the OpenAI API's content parts that the node takes", () => {
    const parts = {
      "input[message].content[input_text]": "ResponseInputText",
      "input[message].content[output_text]": "ResponseOutputText",
      "input[message].content[refusal]": "ResponseOutputRefusal",
      "input[function_call_output].output[input_text]": "ResponseInputTextContent",
    };
    const ofParts = Object.entries(parts).flatMap(([place, name]) =>
      propertiesOf(types, name).map(under(place)),
    );
    expect(ofParts.length).toBeGreaterThan(10);
    expect(missing(ofParts)).toEqual([]);
  });

  test("of the OpenAI API's types of items, types of tools and values of include", () => {
    const items = typesOf(types, "ResponseInputItem");
    const tools = typesOf(types, "Tool");
    expect(items.length).toBeGreaterThan(25);
    expect(tools.length).toBeGreaterThan(15);
    expect(items.filter((type) => !exampleTypes("input").has(type))).toEqual([]);
    expect(tools.filter((type) => !exampleTypes("tools").has(type))).toEqual([]);
    const [, values = ""] = /^export type ResponseIncludable = (.*);$/m.exec(types) ?? [];
    const includable = [...values.matchAll(/'([^']+)'/g)].map(([, value = ""]) => value);
    const included = examples.flatMap(([field, , value]) =>
      field === "include" && Array.isArray(value) ? value : [],
    );
    expect(includable.filter((value) => !included.includes(value))).toEqual([]);
  });
});

/** The types that the members of a union have. */
function typesOf(types: string, union: string): string[] {
  const [, members = ""] = new RegExp(`^export type ${union} = (.*);$`, "m").exec(types) ?? [];
  return members.split(" | ").flatMap((member) => {
    const [, written = ""] = /^ +type\??: (.*);$/m.exec(interfaceOf(types, member)) ?? [];
    return [...written.matchAll(/'([^']+)'/g)].map(([, type = ""]) => type);
  });
}
