/** A request's tools and `tool_choice`: their schemas, and what they become in the domain. */
import { type Static, Type as T } from "@sinclair/typebox";
import { checkedToolUse } from "../../../core/chat/conversation.ts";
import { given } from "../../../core/given.ts";
import type { Tool, ToolUse } from "../../../core/ports/chat-engine.ts";
import { quoted } from "../../../core/quoted.ts";
import { chatNames, type FieldNames, inList, withNames } from "../../wire/field-names.ts";
import * as f from "../../wire/fields.ts";
import { FunctionTool } from "../../wire/message-schema.ts";
import { isHosted, refusedTool } from "./absent.ts";
import { checkedFileSearch, FileSearchTool } from "./file-search.ts";
import type { ResponseRequest } from "./request-schema.ts";

const fields = FunctionTool.properties.function.properties;

const functionFields = {
  name: T.Optional(f.toolName(64, "Of a function or a namespace.")),
  description: fields.description,
  parameters: fields.parameters,
  strict: f.flag(
    "Arguments follow the schema. `false`: parts that a grammar cannot enforce are dropped; otherwise they are rejected.",
  ),
};

const OfferedFunctionTool = f.openObject({
  type: T.Literal("function"),
  ...functionFields,
  output_schema: f.ignored("A function returns text."),
  allowed_callers: f.ignored("Only the model calls functions."),
  async: f.ignored("Calls are answered in the next turn."),
  defer_loading: f.ignored("The model is told of it at once."),
});

const namespaceTools = f.optional(
  T.Array(
    f.readAs(
      f.openObject({ type: T.String({ description: "`function`." }), ...functionFields }),
      [OfferedFunctionTool],
      "ignored",
    ),
    { maxItems: 128 },
  ),
  "Of a namespace: its functions. Other tools in it are left out.",
);

const Namespace = f.openObject({
  type: T.Literal("namespace"),
  name: f.optional(T.String(), "The names of its functions begin with it, for the model."),
  tools: namespaceTools,
  description: f.ignored("The model reads the descriptions of the functions."),
});

/** A tool of any type: functions and searches are used, others are left out or rejected. */
export const ResponseTool = f.readAs(
  f.openObject({
    type: T.String({ description: "`function`, `namespace` or `file_search`." }),
    ...functionFields,
    tools: namespaceTools,
  }),
  [OfferedFunctionTool, Namespace, FileSearchTool],
  "ignored",
);

export type ResponseTool = Static<typeof ResponseTool>;

const functionName = {
  name: f.optional(T.String(), "The function to call."),
  namespace: f.optional(T.String(), "The function's namespace."),
};

const chosen = [
  f.openObject({ type: T.Literal("function"), ...functionName }),
  f.openObject({ type: T.Literal("file_search") }),
];

const allowedFields = {
  mode: f.optional(
    f.oneOf(["auto", "required"]),
    "Of `allowed_tools`: whether one must be called.",
  ),
  tools: f.optional(
    T.Array(f.readAs(f.openObject({ type: T.String(), ...functionName }), chosen), {
      minItems: 1,
      maxItems: 128,
    }),
    "Of `allowed_tools`: the only tools that the model is told of, by type and name.",
  ),
};

/** Required fields depend on the type, and are checked when the choice is read. */
export const ToolChoice = T.Union(
  [
    T.Literal("none"),
    T.Literal("auto"),
    T.Literal("required"),
    f.readAs(
      f.openObject({
        type: T.String({ description: "`function`, `file_search` or `allowed_tools`." }),
        ...functionName,
        ...allowedFields,
      }),
      [...chosen, f.openObject({ type: T.Literal("allowed_tools"), ...allowedFields })],
    ),
  ],
  {
    "x-expected":
      "'none', 'auto', 'required', {type: 'function', name}, {type: 'file_search'} or {type: 'allowed_tools', mode, tools}",
    description: "Whether tools are called, and which.",
  },
);

export type ToolChoice = Static<typeof ToolChoice>;

export interface OfferedTools {
  /** Undefined if no function may be called. */
  toolUse: ToolUse | undefined;
  functions: readonly OfferedFunction[];
  /** With its index in the tools; undefined if none is offered, or `tool_choice` excludes it. */
  search: { tool: FileSearchTool; place: number } | undefined;
}

export const responseNames = ({ functions }: Pick<OfferedTools, "functions">): FieldNames => ({
  ...chatNames,
  messages: inList("input"),
  tools: (at) => (at === undefined ? "tools" : `${functions[at]?.at}.parameters`),
  tool: (at = 0) => `${functions[at]?.at}.name`,
  chosen: () => "tool_choice.name",
  format: () => "text.format",
  schema: () => "text.format.schema",
  "max tokens": () => "max_output_tokens",
});

type RequestedTools = Pick<ResponseRequest, "tools" | "tool_choice" | "parallel_tool_calls">;

export function toOfferedTools(body: RequestedTools): OfferedTools {
  const offered = body.tools ?? [];
  // A model that may choose can do without a tool; one that must call a tool might need this one.
  const mayLeaveOut = body.tool_choice !== "required";
  const unknown = offered.findIndex(
    ({ type }) => !known.has(type) && !(mayLeaveOut && isHosted(type)),
  );
  if (unknown !== -1) throw refusedTool(offered[unknown]?.type ?? "", `tools[${unknown}]`);
  const found = offered.findIndex(({ type }) => type === search);
  const twice = offered.findLastIndex(({ type }) => type === search);
  if (twice !== found) throw f.refuse(`tools[${twice}]`, "is a second search; one may be offered");
  const functions = offeredFunctions(offered);
  const names = new Set(functions.map(({ tool }) => tool.name));
  const available = { names, search: found !== -1 };
  const { choice, allowed } = toChoice(body.tool_choice ?? "auto", available);
  const tools = functions.map(({ tool }) => tool);
  const parallel = body.parallel_tool_calls ?? true;
  const checked = withNames(responseNames({ functions }), () =>
    checkedToolUse({ tools, choice, parallel }),
  );
  const callable = functions.filter(({ tool }) => allowed?.names.has(tool.name) ?? true);
  const mayCall = checked !== undefined && callable.length > 0;
  const tool = offered[found];
  const searched = tool && { tool: checkedFileSearch(tool, `tools[${found}]`), place: found };
  const maySearch = choice !== "none" && (allowed?.search ?? true);
  return {
    toolUse: mayCall ? { ...checked, tools: callable.map(({ tool }) => tool) } : undefined,
    functions: callable,
    search: maySearch ? searched : undefined,
  };
}

const search = "file_search";
const known = new Set(["function", "namespace", search]);

/** The functions that a request offers, by their names for the model, and whether a search. */
interface Available {
  names: ReadonlySet<string>;
  search: boolean;
}

interface Choice {
  choice: "none" | "auto" | "required" | { name: string };
  allowed?: Available;
}

function toChoice(choice: ToolChoice, offered: Available): Choice {
  if (typeof choice === "string") return { choice: orSearch(choice, offered) };
  switch (choice.type) {
    case "function":
      f.required(choice.name, "tool_choice.name", "the name of the function");
      return { choice: { name: modelName(choice) } };
    case search:
      checkOffered(choice, offered, "tool_choice");
      return { choice: "auto" };
    case "allowed_tools": {
      const mode = f.required(choice.mode, "tool_choice.mode", "'auto' or 'required'");
      const tools = f.required(choice.tools, "tool_choice.tools", "a list of tools");
      for (const [at, tool] of tools.entries()) {
        checkOffered(tool, offered, `tool_choice.tools[${at}]`);
      }
      const names = new Set(
        tools.flatMap((tool) => (tool.type === "function" ? [modelName(tool)] : [])),
      );
      const allowed = { names, search: tools.some(({ type }) => type === search) };
      return { choice: names.size === 0 ? "auto" : mode, allowed };
    }
    default:
      throw refusedTool(choice.type, "tool_choice");
  }
}

/** An offered search is always made, so it satisfies `required` if there are no functions. */
function orSearch(choice: Extract<ToolChoice, string>, offered: Available): Choice["choice"] {
  const isSearchOnly = offered.search && offered.names.size === 0;
  return choice === "required" && isSearchOnly ? "auto" : choice;
}

interface PartialName {
  name?: string;
  namespace?: string | null | undefined;
}

function checkOffered(
  wanted: PartialName & { type: string },
  offered: Available,
  param: string,
): void {
  if (wanted.type !== "function" && wanted.type !== search) throw refusedTool(wanted.type, param);
  const isFunction = wanted.type === "function";
  if (isFunction ? offered.names.has(modelName(wanted)) : offered.search) return;
  const called = isFunction ? `the function ${quoted(modelName(wanted))}` : `'${search}'`;
  throw f.refuse(param, `names ${called}, which is not one of the tools`);
}

export interface WireName {
  name: string;
  namespace?: string;
}

interface OfferedFunction {
  tool: Tool;
  at: string;
  wire: WireName;
}

/** More functions would be too many for a model to read, and for a grammar. */
const mostFunctions = 512;

/** All functions, with those in namespaces; other tools are left out. */
function offeredFunctions(tools: readonly ResponseTool[]): OfferedFunction[] {
  const functions = tools.flatMap((tool, place): OfferedFunction[] => {
    const at = `tools[${place}]`;
    if (tool.type === "function") return [toFunction(tool, at)];
    return tool.type === "namespace" ? inNamespace(tool, at) : [];
  });
  if (functions.length > mostFunctions) {
    throw f.refuse("tools", `has more than ${mostFunctions} functions in all of its namespaces`);
  }
  return functions;
}

/** Namespace and name as one name for the model, such as `files__read`. */
export function modelName({ namespace, name = "" }: PartialName): string {
  if (namespace === undefined || namespace === null) return name;
  return namespace.endsWith("__") ? `${namespace}${name}` : `${namespace}__${name}`;
}

function inNamespace({ name, tools }: ResponseTool, at: string): OfferedFunction[] {
  const namespace = f.required(name, `${at}.name`, "the name of the namespace");
  return f
    .required(tools, `${at}.tools`, "a list of functions")
    .flatMap((tool, place) =>
      tool.type === "function" ? [toFunction(tool, `${at}.tools[${place}]`, namespace)] : [],
    );
}

function toFunction(
  { name: sent, description, parameters, strict }: Omit<ResponseTool, "tools">,
  at: string,
  namespace?: string,
): OfferedFunction {
  const name = f.required(sent, `${at}.name`, "the name of the function");
  const wire = { name, ...given({ namespace }) };
  // With `strict: false`, parts of the schema that a grammar cannot enforce are dropped.
  const loose = strict === false ? { strict } : {};
  const tool = { name: modelName(wire), ...f.withoutNulls({ description, parameters }), ...loose };
  return { tool, at, wire };
}
