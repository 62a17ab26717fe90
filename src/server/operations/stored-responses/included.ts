/** A response with what it shows only to who asks for it. */
import { type Includable, served } from "../../wire/response-include.ts";

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
    return include.includes(served.searchResults) ? item : { ...item, results: null };
  }
  if (type !== "message" || !Array.isArray(content)) return item;
  if (include.includes(served.logprobs)) return item;
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
