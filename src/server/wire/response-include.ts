/** What a response shows only to who asks for it with `include`. */
import { type ArrayOptions, Type as T } from "@sinclair/typebox";

/** What this node has of it. */
export const served = {
  searchResults: "file_search_call.results",
  logprobs: "message.output_text.logprobs",
} as const;

/** What can be asked for, as OpenAI's API names it. */
const includables = [
  served.searchResults,
  served.logprobs,
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
] as const;

export type Includable = (typeof includables)[number];

export const includeList = (options: ArrayOptions = {}) =>
  T.Array(T.Union(includables.map((name) => T.Literal(name))), { maxItems: 32, ...options });

const isServed = (name: Includable): boolean => Object.values<Includable>(served).includes(name);

/** The places of what was asked for, and nothing on this node has. */
export const unserved = (include: readonly Includable[] = []): string[] =>
  include.flatMap((name, at) => (isServed(name) ? [] : [`include[${at}]`]));
