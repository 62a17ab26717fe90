/** What a response was asked with, as it is listed: complete items, each with an id of its own. */
import { inputItemId } from "./ids.ts";
import type { Input, InputItem } from "./request-schema.ts";

const prefixes: Readonly<Record<string, string>> = {
  function_call: "fc",
  function_call_output: "fco",
  reasoning: "rs",
  file_search_call: "fs",
};

export type ListedItem = Record<string, unknown> & { id: string };

/** Items keep the ids that they came with, unless another one has it already. */
export function toListedItems(input: Input, responseId: string): ListedItem[] {
  const items: readonly InputItem[] =
    typeof input === "string" ? [{ role: "user", content: input }] : input;
  const ids = new Set<string>();
  return items.map((item, index) => {
    const type = item.type ?? "message";
    const given = item.id ?? "";
    const isOwn = given !== "" && !ids.has(given);
    const id = isOwn ? given : inputItemId(responseId, prefixes[type] ?? "msg", index);
    ids.add(id);
    const listed = { ...item, id, type, status: "completed" };
    return type === "message" ? { ...listed, content: partsOf(item) } : listed;
  });
}

function partsOf({ role, content }: InputItem): unknown {
  if (typeof content !== "string") return content;
  return role === "assistant"
    ? [{ type: "output_text", text: content, annotations: [] }]
    : [{ type: "input_text", text: content }];
}
