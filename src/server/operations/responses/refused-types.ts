/** Items and tools of the OpenAI API that this node does not have: refused by name, with what to do. */
import type { NodeError } from "../../../core/errors.ts";
import { quoted } from "../../../core/quoted.ts";
import { refuse } from "../../wire/refuse.ts";

/** What a tool would be for, and what can be done without it. */
const tools: Readonly<Record<string, string>> = {
  web_search: "this node does not search the web; offer a function that does",
  computer: "this node operates no computer; offer functions that do",
  code_interpreter: "this node runs no code; offer a function that does",
  image_generation: "this node's models write text only",
  mcp: "this node asks no MCP servers; ask them yourself, and offer their tools as functions",
  shell: "this node runs no commands; offer a function that does",
  apply_patch: "this node changes no files; offer a function that does",
  custom: "calls are JSON by a schema here; offer a function with one text as its argument",
  tool_search: "this node does not search tools; offer those that may be called",
  programmatic_tool_calling: "this node runs no code; the model calls functions one by one",
};

/** Names that stand for the same. */
const kinds: readonly [RegExp, keyof typeof tools][] = [
  [/^web_search/, "web_search"],
  [/^computer/, "computer"],
  [/^code_interpreter/, "code_interpreter"],
  [/^image_generation/, "image_generation"],
  [/^mcp/, "mcp"],
  [/^(local_)?shell/, "shell"],
  [/^apply_patch/, "apply_patch"],
  [/^custom/, "custom"],
  [/^(tool_search|additional_tools)/, "tool_search"],
  [/^program/, "programmatic_tool_calling"],
];

/** Items that belong to no tool. */
const items: Readonly<Record<string, string>> = {
  compaction: "this node does not compact conversations; send the items themselves",
  compaction_trigger: "this node does not compact conversations; send 'truncation': 'auto'",
  configuration_update: "cannot change a request from inside its input; send its fields beside it",
};

function reasonOf(type: string): string | undefined {
  const kind = kinds.find(([pattern]) => pattern.test(type))?.[1];
  return kind === undefined ? undefined : tools[kind];
}

/** Whether it is a tool of the OpenAI API that this node does not have. */
export const isHosted = (type: string): boolean => reasonOf(type) !== undefined;

export function refusedItem(type: string, param: string): NodeError {
  const why = items[type] ?? reasonOf(type);
  return refuse(
    param,
    why === undefined
      ? `has the type ${quoted(type)}; known are 'message', 'function_call', 'function_call_output', 'reasoning', 'file_search_call' and 'item_reference'`
      : `has the type ${quoted(type)}, which is not done here: ${why}`,
  );
}

export function refusedTool(type: string, param: string): NodeError {
  const why = reasonOf(type);
  return refuse(
    param,
    why === undefined
      ? `has the type ${quoted(type)}; known are 'function', 'namespace' and 'file_search'`
      : `has the type ${quoted(type)}, which is not done here: ${why}`,
  );
}
