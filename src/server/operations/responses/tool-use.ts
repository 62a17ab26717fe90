/** The tools of a request, and which of them is to be called, between the wire and the domain. */
import type { Tool, ToolUse } from "../../../core/ports/chat-engine.ts";
import { quoted } from "../../../core/quoted.ts";
import { refuse } from "../../wire/refuse.ts";
import { checkedToolUse } from "../../wire/tool-use.ts";
import { withoutNulls } from "../../wire/without-nulls.ts";
import { checkedFileSearch, type FileSearchTool } from "./file-search.ts";
import { refusedTool } from "./refused-types.ts";
import type { ResponseRequest } from "./request-schema.ts";
import type { ToolChoice } from "./tool-schema.ts";

/** A search of vector stores, and where it stands among the request's tools. */
interface OfferedSearch {
  tool: FileSearchTool;
  place: number;
}

export interface OfferedTools {
  /** Undefined where no function may be called. */
  toolUse: ToolUse | undefined;
  /** Where each of the functions stands among the request's tools. */
  places: readonly number[];
  /** Undefined where no search is offered, or none is wanted. */
  search: OfferedSearch | undefined;
}

type Offered = NonNullable<ResponseRequest["tools"]>;
type RequestedTools = Pick<ResponseRequest, "tools" | "tool_choice" | "parallel_tool_calls">;

export function toOfferedTools(body: RequestedTools): OfferedTools {
  const offered = body.tools ?? [];
  const unknown = offered.findIndex(({ type }) => type !== "function" && type !== search);
  if (unknown !== -1) throw refusedTool(offered[unknown]?.type ?? "", `tools[${unknown}]`);
  const found = offered.findIndex(({ type }) => type === search);
  const twice = offered.findLastIndex(({ type }) => type === search);
  if (twice !== found) throw refuse(`tools[${twice}]`, "is a second search; one may be offered");
  const { choice, allowed } = toChoice(body.tool_choice ?? "auto", offered);
  const functions = offered.flatMap((tool, place) =>
    tool.type === "function" ? [{ tool: toTool(tool, `tools[${place}]`), place }] : [],
  );
  const checked = checkedToolUse(
    {
      tools: functions.map(({ tool }) => tool),
      choice,
      parallel: body.parallel_tool_calls ?? true,
    },
    { tool: (at) => `tools[${functions[at]?.place}].name`, choice: "tool_choice.name" },
  );
  const kept = functions.filter(({ tool }) => allowed?.names.has(tool.name) ?? true);
  const tools = kept.map(({ tool }) => tool);
  const mayCall = checked !== undefined && tools.length > 0;
  const tool = offered[found];
  const searched = tool && { tool: checkedFileSearch(tool, `tools[${found}]`), place: found };
  const maySearch = choice !== "none" && (allowed?.search ?? true);
  return {
    toolUse: mayCall ? { ...checked, tools } : undefined,
    places: kept.map(({ place }) => place),
    search: maySearch ? searched : undefined,
  };
}

const search = "file_search";

function toTool({ name, description, parameters }: Offered[number], param: string): Tool {
  if (name === undefined) throw refuse(`${param}.name`, "is required: the name of the function");
  return { name, ...withoutNulls({ description, parameters }) };
}

interface Choice {
  choice: "none" | "auto" | "required" | { name: string };
  /** What may be called; undefined: everything. */
  allowed?: { names: ReadonlySet<string>; search: boolean };
}

function toChoice(choice: ToolChoice, offered: Offered): Choice {
  if (typeof choice === "string") return { choice: orSearch(choice, offered) };
  switch (choice.type) {
    case "function":
      if (choice.name === undefined) {
        throw refuse("tool_choice.name", "is required: the name of the function");
      }
      return { choice: { name: choice.name } };
    case search:
      checkOffered(choice, offered, "tool_choice");
      return { choice: "auto" };
    case "allowed_tools": {
      const { mode, tools } = choice;
      if (mode === undefined) throw refuse("tool_choice.mode", "is required: 'auto' or 'required'");
      if (tools === undefined) throw refuse("tool_choice.tools", "is required: a list of tools");
      for (const [at, tool] of tools.entries()) {
        checkOffered(tool, offered, `tool_choice.tools[${at}]`);
      }
      const names = new Set(
        tools.flatMap(({ type, name }) => (type === "function" ? [name ?? ""] : [])),
      );
      const allowed = { names, search: tools.some(({ type }) => type === search) };
      return { choice: names.size === 0 ? "auto" : mode, allowed };
    }
    default:
      throw refusedTool(choice.type, "tool_choice");
  }
}

/** A search is always made where it is offered, so that a call of some tool is certain. */
function orSearch(choice: Extract<ToolChoice, string>, offered: Offered): Choice["choice"] {
  const isSearchOnly = offered.length > 0 && offered.every(({ type }) => type === search);
  return choice === "required" && isSearchOnly ? "auto" : choice;
}

function checkOffered(
  wanted: { type: string; name?: string },
  offered: Offered,
  param: string,
): void {
  if (wanted.type !== "function" && wanted.type !== search) throw refusedTool(wanted.type, param);
  const isFunction = wanted.type === "function";
  if (
    offered.some(({ type, name }) => type === wanted.type && (!isFunction || name === wanted.name))
  ) {
    return;
  }
  const called = isFunction ? `the function ${quoted(wanted.name ?? "")}` : `'${search}'`;
  throw refuse(param, `names ${called}, which is not one of the tools`);
}
