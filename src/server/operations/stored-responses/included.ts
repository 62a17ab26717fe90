/** What a response shows only to who asks for it. */
import type { Includable } from "./schema.ts";

/** What is kept with a response, and can be shown. */
const shown: readonly Includable[] = ["file_search_call.results", "message.output_text.logprobs"];

/** Names of what was asked for, and nothing on this node has. */
export const unserved = (include: readonly Includable[] = []): string[] =>
  include.flatMap((name, at) => (shown.includes(name) ? [] : [`include[${at}]`]));

/** The body of a response, with the details in its output that are asked for, and without the others. */
export function shownWith(body: object, include: readonly Includable[] = []): object {
  if (!("output" in body) || !Array.isArray(body.output)) return body;
  const output = body.output.map((item) => (isObject(item) ? itemWith(item, include) : item));
  return { ...body, output };
}

/** An item of the output, or one of the input that was an output before. */
export function itemWith<Item extends object>(
  item: Item,
  include: readonly Includable[] = [],
): Item {
  const { type, content, results }: Details = item;
  if (type === "file_search_call" && results !== undefined) {
    return include.includes("file_search_call.results") ? item : { ...item, results: null };
  }
  if (type !== "message" || !Array.isArray(content)) return item;
  if (include.includes("message.output_text.logprobs")) return item;
  return { ...item, content: content.map(withoutLogprobs) };
}

interface Details {
  type?: unknown;
  content?: unknown;
  results?: unknown;
}

function withoutLogprobs(part: unknown): unknown {
  if (!isObject(part) || !("logprobs" in part)) return part;
  const { logprobs: _, ...rest } = part;
  return rest;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
