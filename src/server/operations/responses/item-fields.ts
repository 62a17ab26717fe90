/** Names of what items, their parts and a choice of tools have that the node does not act on, by their types. */
import type { InputItem } from "./request-schema.ts";
import type { ToolChoice } from "./tool-schema.ts";

/** The fields of each type. Of any other type nothing is said: it is refused. */
type Known = Readonly<Record<string, ReadonlySet<string>>>;

const items: Known = {
  message: new Set(["type", "id", "status", "role", "content", "phase"]),
  function_call: new Set(["type", "id", "status", "call_id", "name", "namespace", "arguments"]),
  function_call_output: new Set(["type", "id", "status", "call_id", "name", "namespace", "output"]),
  reasoning: new Set(["type", "id", "status", "summary", "content", "encrypted_content"]),
  file_search_call: new Set(["type", "id", "status", "queries", "results"]),
  item_reference: new Set(["type", "id"]),
};

const parts: Known = {
  input_text: new Set(["type", "text", "prompt_cache_breakpoint"]),
  output_text: new Set(["type", "text", "annotations", "logprobs"]),
  text: new Set(["type", "text"]),
  refusal: new Set(["type", "refusal"]),
};

/** Where such items have their parts; thoughts and searches that come back are not looked into. */
const withParts: Readonly<Record<string, "content" | "output">> = {
  message: "content",
  function_call_output: "output",
};

const chosen: Known = {
  function: new Set(["type", "name", "namespace"]),
  file_search: new Set(["type"]),
};

const choices: Known = { ...chosen, allowed_tools: new Set(["type", "mode", "tools"]) };

export function unknownInItem(item: InputItem, place: string): string[] {
  const type = typeOf(item);
  const name = withParts[type];
  const inParts = name && unknownInList(parts, item[name], `${place}.${name}`);
  return [...unknownIn(items, type, item, place), ...(inParts ?? [])];
}

export function unknownInChoice(choice: ToolChoice | null | undefined): string[] {
  if (typeof choice !== "object" || choice === null) return [];
  const place = "tool_choice";
  const unknown = unknownIn(choices, choice.type, choice, place);
  if (choice.type !== "allowed_tools") return unknown;
  return [...unknown, ...unknownInList(chosen, choice.tools, `${place}.tools`)];
}

/** One without a type is a message, or an id alone. */
const typeOf = ({ type, role, id }: InputItem): string =>
  type || (role === undefined && typeof id === "string" ? "item_reference" : "message");

function unknownInList(known: Known, list: unknown, place: string): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((value, at) =>
    unknownIn(known, Object(value).type, Object(value), `${place}[${at}]`),
  );
}

/** A field that is null counts as absent. */
function unknownIn(known: Known, type: unknown, value: object, place: string): string[] {
  const names = typeof type === "string" && Object.hasOwn(known, type) ? known[type] : undefined;
  if (names === undefined) return [];
  return Object.entries(value).flatMap(([name, content]) =>
    content === null || names.has(name) ? [] : [`${place}.${name}`],
  );
}
