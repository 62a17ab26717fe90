import { describe, expect, test } from "bun:test";
import { fieldsOf } from "../../scripts/field-docs.ts";
import {
  changed,
  type FieldOutcome,
  type FieldRequests,
  interfaceOf,
  propertiesOf,
  unnamed,
  walkFields,
} from "../support/field-examples.ts";
import { read } from "../support/repository-text.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";
import { examples } from "./examples/messages.ts";

const described = fieldsOf("createMessage");

const tool = { name: "look_up", input_schema: { type: "object" } };

const format = { type: "json_schema", schema: { type: "null" } };

const image = { type: "image", source: { type: "url", url: "https://example.org/a.png" } };

/** A request in which everything that a field can be in has its place. */
const whole = (): Json => ({
  model: "chatty",
  max_tokens: 64,
  messages: [
    { role: "user", content: [{ type: "text", text: "Hello" }, image] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm", signature: "s" },
        { type: "redacted_thinking", data: "d" },
        { type: "tool_use", id: "toolu_1", name: "look_up", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [{ type: "text", text: "Found" }],
        },
      ],
    },
  ],
});

const blockPlaces: Readonly<Record<string, readonly [message: number, block: number]>> = {
  text: [0, 0],
  image: [0, 1],
  thinking: [1, 0],
  redacted_thinking: [1, 1],
  tool_use: [1, 2],
  tool_result: [2, 0],
};

/** What a field means nothing without. */
const beside: Readonly<Record<string, Json>> = {
  tool_choice: { tools: [tool] },
  "tool_choice.type": { tools: [tool], tool_choice: { type: "any", name: "look_up" } },
  "tool_choice.name": { tools: [tool], tool_choice: { type: "tool" } },
  "tool_choice.disable_parallel_tool_use": { tools: [tool], tool_choice: { type: "any" } },
  thinking: { thinking: { type: "enabled" } },
  tools: { tools: [tool] },
  system: { system: [{ type: "text", text: "Be brief." }] },
  output_config: { output_config: {} },
  "output_config.format.type": { output_config: { format } },
  "output_config.format.schema": { output_config: { format } },
  "output_format.type": { output_format: format },
  "output_format.schema": { output_format: format },
  metadata: { metadata: {} },
};

/** A field that is not there has the value of another that means the same. */
const without: Readonly<Record<string, unknown>> = {
  "messages[].content": "",
  "messages[].role": "system",
  "messages[].content[text].text": "Hi",
  "messages[].content[thinking].type": "redacted_thinking",
  "messages[].content[redacted_thinking].type": "thinking",
  "tool_choice.type": "any",
  "thinking.type": "adaptive",
};

type Json = { [name: string]: unknown };

/** The steps from a request to the field, and the field's name on the wire. */
function placeOf(field: string): { steps: (string | number)[]; as: string } {
  const ofBlock = /^messages\[\]\.content\[(\w+)\]\.(content\[\]\.)?(\w+)$/;
  const [, type, result, inner = ""] = ofBlock.exec(field) ?? [];
  if (type !== undefined) {
    const [message, block] = blockPlaces[type] ?? [0, 0];
    const steps = ["messages", message, "content", block];
    const as = `messages[${message}].content[${block}]`;
    return result === undefined
      ? { steps: [...steps, inner], as: `${as}.${inner}` }
      : { steps: [...steps, "content", 0, inner], as: `${as}.content[0].${inner}` };
  }
  const steps = field.split(".").flatMap((step): (string | number)[] => {
    const list = /^(\w+)\[\]$/.exec(step)?.[1];
    return list === undefined ? [step] : [list, 0];
  });
  return { steps, as: field.replaceAll("[]", "[0]") };
}

function requestsWith(field: string, value: unknown): FieldRequests {
  const { steps, as } = placeOf(field);
  const [outer = ""] = field.split(/\[|\./);
  const more = beside[field] ?? (field === outer && outer !== "tool_choice" ? {} : beside[outer]);
  const body = { ...whole(), ...more };
  return {
    with: changed(body, steps, value),
    without: changed(body, steps, without[field]),
    as,
  };
}

const app = testApp({ vision: true });

/** What comes of a request: the status, what the engine was asked, and the answer but for its id. */
async function outcome(body: object): Promise<FieldOutcome> {
  app.chat.requests.splice(0);
  app.chat.script({ type: "reasoning", text: "Hm" }, { type: "text", text: "Hi" }, finish);
  const response = await app.post("/v1/messages", body);
  const text = (await response.text()).replaceAll(/"(request_)?id":"[^"]*"/g, "");
  return {
    ignored: response.headers.get("x-paddock-ignored"),
    seen: { status: response.status, asked: [...app.chat.requests], text },
  };
}

walkFields({
  called: "a Messages request",
  examples,
  described,
  requestsWith,
  outcome,
  expectRejection,
});

/** A 400 whose message names the field, or the part of it that is at fault. */
async function expectRejection(body: object, as: string): Promise<void> {
  app.chat.requests.splice(0);
  const response = await app.post("/v1/messages", body);
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({
    type: "error",
    error: {
      type: "invalid_request_error",
      message: expect.stringContaining(`'${as}`),
      ...(as === "thread" ? { details: { error_code: "thread_unsupported_request" } } : {}),
    },
    request_id: response.headers.get("request-id"),
  });
  expect(app.chat.requests).toEqual([]);
}

const readTypes = (path: string): Promise<string> =>
  read(`node_modules/@anthropic-ai/sdk/resources/${path}/messages.d.ts`);
const types = await readTypes("messages");
const betaTypes = await readTypes("beta/messages");

describe("no field is unnamed", () => {
  const missing = (fields: readonly string[]): string[] => unnamed(described, fields);
  const under = (place: string, names: readonly string[]): string[] =>
    names.map((name) => `${place}.${name}`);

  test("of Anthropic's request and its count", () => {
    const request = propertiesIn("MessageCreateParamsBase");
    expect(request.length).toBeGreaterThan(15);
    expect(missing([...request, ...propertiesIn("MessageCountTokensParams")])).toEqual([]);
  });

  test("of its messages, blocks, tools and options", () => {
    const roles = ["User", "Assistant", "System"].flatMap((role) =>
      propertiesIn(`${role}MessageParam`),
    );
    const blocks = [
      "TextBlockParam",
      "ToolUseBlockParam",
      "ToolResultBlockParam",
      "ThinkingBlockParam",
      "RedactedThinkingBlockParam",
    ].flatMap((name) => under("messages[].content[]", propertiesIn(name)));
    const choices = membersOf("ToolChoice").flatMap((name) => propertiesIn(name));
    const thinking = membersOf("ThinkingConfigParam").flatMap((name) => propertiesIn(name));
    expect(
      missing([
        ...under("messages[]", roles),
        ...blocks,
        ...under("messages[].content[].content[]", propertiesIn("TextBlockParam")),
        ...under("tools[]", propertiesIn("Tool")),
        ...under("tool_choice", choices),
        ...under("thinking", thinking),
        ...under("output_config", propertiesIn("OutputConfig")),
        ...under("output_config.format", propertiesIn("JSONOutputFormat")),
        ...under("output_format", propertiesIn("JSONOutputFormat")),
      ]),
    ).toEqual([]);
  });

  test("of the betas, which ask at the same address", () => {
    const beta = (name: string): string[] => propertiesIn(name, betaTypes);
    const thinking = membersOf("BetaThinkingConfigParam", betaTypes).flatMap(beta);
    const roles = ["User", "Assistant", "System"].flatMap((role) =>
      beta(`Beta${role}MessageParam`),
    );
    expect(
      missing([
        ...beta("MessageCreateParamsBase"),
        ...beta("MessageCountTokensParams"),
        ...under("messages[]", roles),
        ...under("tools[]", beta("BetaTool")),
        ...under("thinking", thinking),
        ...under("output_config", beta("BetaOutputConfig")),
      ]),
    ).toEqual([]);
  });
});

describe("what Anthropic's package knows and the node does not", () => {
  const blocks = membersOf("ContentBlockParam").map(typeOf);
  const tools = membersOf("ToolUnion").map(typeOf);

  test("is most of the blocks and all but one of the tools", () => {
    expect(blocks).toContain("document");
    expect(Object.keys(blockPlaces).filter((type) => !blocks.includes(type))).toEqual([]);
    expect(tools.filter((type) => type === "custom")).toHaveLength(1);
    expect(tools).toContain("web_search_20250305");
  });

  test.each(blocks.filter((type) => !(type in blockPlaces)))(
    "is refused by its name: a block %s",
    async (type) => {
      const body = { ...whole(), messages: [{ role: "user", content: [{ type }] }] };
      await expectRejection(body, `messages[0].content[0]' has the type '${type}'`);
    },
  );

  test.each(tools.filter((type) => type !== "custom"))(
    "is refused by its name: a tool %s",
    async (type) => {
      const body = { ...whole(), tools: [{ type, name: "a" }] };
      await expectRejection(body, `tools[0].type' is '${type}'`);
    },
  );
});

/** The names of an interface's properties. */
function propertiesIn(name: string, text = types): string[] {
  return propertiesOf(text, name);
}

/** The interfaces that an exported union is of. */
function membersOf(name: string, text = types): string[] {
  const [, members] = new RegExp(`^export type ${name} = ([^;]+);`, "m").exec(text) ?? [];
  if (members === undefined) throw new Error(`The types of Anthropic's API have no ${name}`);
  return members.split("|").map((member) => member.trim());
}

/** The value of an interface's `type`. */
function typeOf(name: string): string {
  const [, type] = /^ {4}type\??: '(\w+)'/m.exec(interfaceOf(types, name)) ?? [];
  if (type === undefined) throw new Error(`${name} has no type`);
  return type;
}
