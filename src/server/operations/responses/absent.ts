/** Tools and items of the Responses API that this node does not have, and why. */
import type { NodeError } from "../../../core/errors.ts";
import { quoted } from "../../../core/quoted.ts";
import { refuse } from "../../wire/fields.ts";

const runsNoCommands = "this node runs no commands; offer a function that does";
const searchesNoTools = "this node does not search tools; offer those that may be called";

/** Unsupported tools, by the prefix of their type and of their items' types. */
export const absentTools: Readonly<Record<string, string>> = {
  web_search: "this node does not search the web; offer a function that does",
  computer: "this node operates no computer; offer functions that do",
  code_interpreter: "this node runs no code; offer a function that does",
  image_generation: "this node's models write text only",
  mcp: "this node calls no MCP servers; call them yourself, and offer their tools as functions",
  local_shell: runsNoCommands,
  shell: runsNoCommands,
  apply_patch: "this node changes no files; offer a function that does",
  custom: "calls are JSON by a schema here; offer a function with one text as its argument",
  tool_search: searchesNoTools,
  additional_tools: searchesNoTools,
  program: "this node runs no code; the model calls functions one by one",
};

/** Unsupported items that belong to no tool. */
export const absentItems: Readonly<Record<string, string>> = {
  compaction: "this node does not compact conversations; send the items themselves",
  compaction_trigger: "this node does not compact conversations; send 'truncation': 'auto'",
  configuration_update: "cannot change a request from inside its input; send its fields beside it",
};

const reasonOf = (type: string): string | undefined =>
  Object.entries(absentTools).find(([begins]) => type.startsWith(begins))?.[1];

/** Whether another server would run the tool itself. */
export const isHosted = (type: string): boolean => reasonOf(type) !== undefined;

export const refusedItem = (type: string, param: string): NodeError =>
  refused(
    type,
    param,
    Object.hasOwn(absentItems, type) ? absentItems[type] : reasonOf(type),
    "'message', 'function_call', 'function_call_output', 'reasoning', 'file_search_call' and 'item_reference'",
  );

export const refusedTool = (type: string, param: string): NodeError =>
  refused(type, param, reasonOf(type), "'function', 'namespace' and 'file_search'");

const refused = (type: string, param: string, why: string | undefined, known: string): NodeError =>
  refuse(
    param,
    why === undefined
      ? `has the type ${quoted(type)}; known are ${known}`
      : `has the type ${quoted(type)}, which this node does not do: ${why}`,
  );
