/** The tools of a request, and which of them is to be called, between the wire and the domain. */
import type { ToolUse } from "../../../core/ports/chat-engine.ts";
import { quoted } from "../../../core/quoted.ts";
import { refuse } from "../../wire/refuse.ts";
import { checkedToolUse } from "../../wire/tool-use.ts";
import { checkedFileSearch } from "./file-search.ts";
import { modelName, type OfferedFunction, offeredFunctions, type WireName } from "./namespaces.ts";
import { isHosted, refusedTool } from "./refused-types.ts";
import type { ResponseRequest } from "./request-schema.ts";
import type { FileSearchTool, ToolChoice } from "./tool-schema.ts";

/** A search of vector stores, and where it stands among the request's tools. */
interface OfferedSearch {
  tool: FileSearchTool;
  place: number;
}

export interface OfferedTools {
  /** Undefined where no function may be called. */
  toolUse: ToolUse | undefined;
  /** The functions that may be called, in the order of `toolUse`. */
  functions: readonly OfferedFunction[];
  /** Undefined where no search is offered, or none is wanted. */
  search: OfferedSearch | undefined;
}

type RequestedTools = Pick<ResponseRequest, "tools" | "tool_choice" | "parallel_tool_calls">;

export function toOfferedTools(body: RequestedTools): OfferedTools {
  const offered = body.tools ?? [];
  // A model that may choose can do without a tool; one that must call some tool might need this one.
  const mayLeaveOut = body.tool_choice !== "required";
  const unknown = offered.findIndex(
    ({ type }) => !known.has(type) && !(mayLeaveOut && isHosted(type)),
  );
  if (unknown !== -1) throw refusedTool(offered[unknown]?.type ?? "", `tools[${unknown}]`);
  const found = offered.findIndex(({ type }) => type === search);
  const twice = offered.findLastIndex(({ type }) => type === search);
  if (twice !== found) throw refuse(`tools[${twice}]`, "is a second search; one may be offered");
  const functions = offeredFunctions(offered);
  const names = new Set(functions.map(({ tool }) => tool.name));
  const { choice, allowed } = toChoice(body.tool_choice ?? "auto", {
    names,
    search: found !== -1,
  });
  const checked = checkedToolUse(
    {
      tools: functions.map(({ tool }) => tool),
      choice,
      parallel: body.parallel_tool_calls ?? true,
    },
    { tool: (at) => `${functions[at]?.at}.name`, choice: "tool_choice.name" },
  );
  const kept = functions.filter(({ tool }) => allowed?.names.has(tool.name) ?? true);
  const tools = kept.map(({ tool }) => tool);
  const mayCall = checked !== undefined && tools.length > 0;
  const tool = offered[found];
  const searched = tool && { tool: checkedFileSearch(tool, `tools[${found}]`), place: found };
  const maySearch = choice !== "none" && (allowed?.search ?? true);
  return {
    toolUse: mayCall ? { ...checked, tools } : undefined,
    functions: kept,
    search: maySearch ? searched : undefined,
  };
}

const search = "file_search";
const known = new Set(["function", "namespace", search]);

/** What a request offers: functions, by the names that the model knows, and a search. */
interface Available {
  names: ReadonlySet<string>;
  search: boolean;
}

interface Choice {
  choice: "none" | "auto" | "required" | { name: string };
  /** What may be called; undefined: everything. */
  allowed?: Available;
}

function toChoice(choice: ToolChoice, offered: Available): Choice {
  if (typeof choice === "string") return { choice: orSearch(choice, offered) };
  switch (choice.type) {
    case "function":
      if (choice.name === undefined) {
        throw refuse("tool_choice.name", "is required: the name of the function");
      }
      return { choice: { name: nameOf(choice) } };
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
        tools.flatMap((tool) => (tool.type === "function" ? [nameOf(tool)] : [])),
      );
      const allowed = { names, search: tools.some(({ type }) => type === search) };
      return { choice: names.size === 0 ? "auto" : mode, allowed };
    }
    default:
      throw refusedTool(choice.type, "tool_choice");
  }
}

/** A search is always made where it is offered, so that a call of some tool is certain. */
function orSearch(choice: Extract<ToolChoice, string>, offered: Available): Choice["choice"] {
  const isSearchOnly = offered.search && offered.names.size === 0;
  return choice === "required" && isSearchOnly ? "auto" : choice;
}

interface NamedTool extends Partial<WireName> {
  type: string;
}

/** As the model knows it. */
const nameOf = ({ name = "", namespace }: NamedTool): string =>
  modelName({ name, ...(namespace === undefined ? {} : { namespace }) });

function checkOffered(wanted: NamedTool, offered: Available, param: string): void {
  if (wanted.type !== "function" && wanted.type !== search) throw refusedTool(wanted.type, param);
  const isFunction = wanted.type === "function";
  if (isFunction ? offered.names.has(nameOf(wanted)) : offered.search) return;
  const called = isFunction ? `the function ${quoted(nameOf(wanted))}` : `'${search}'`;
  throw refuse(param, `names ${called}, which is not one of the tools`);
}
