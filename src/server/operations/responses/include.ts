/** What a response shows only to a caller that asks for it with `include`. */
import { type ArrayOptions, type Static, Type as T } from "@sinclair/typebox";
import { ignoredAs } from "../../wire/fields.ts";

/** What this node has of it. */
export const served = {
  searchResults: "file_search_call.results",
  logprobs: "message.output_text.logprobs",
} as const;

const noTool = "The node does not have the tool.";

/** What can be asked for, as OpenAI's API names it. */
const Includable = T.Union([
  T.Literal(served.searchResults, { description: "The passages that a search found." }),
  T.Literal(served.logprobs, { description: "The log probability of each token of the text." }),
  ignoredAs(T.Literal("web_search_call.results"), noTool),
  ignoredAs(T.Literal("web_search_call.action.sources"), noTool),
  ignoredAs(T.Literal("message.input_image.image_url"), "The models read text only."),
  ignoredAs(T.Literal("computer_call_output.output.image_url"), noTool),
  ignoredAs(T.Literal("code_interpreter_call.outputs"), noTool),
  ignoredAs(
    T.Literal("reasoning.encrypted_content"),
    "Thoughts are in the clear, and models are not shown their earlier ones.",
  ),
]);

export type Includable = Static<typeof Includable>;

export const includeList = (options: ArrayOptions = {}) =>
  T.Array(Includable, { maxItems: 32, ...options });

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
