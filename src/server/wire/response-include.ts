/** What a response shows only to a caller that asks for it with `include`. */
import { type ArrayOptions, type Static, Type as T } from "@sinclair/typebox";
import { ignoredAs } from "./fields.ts";

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
