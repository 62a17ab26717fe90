/** Schemas that requests and responses share: tools, `tool_choice`, `text.format`, `include`. */
import { type ArrayOptions, type Static, Type as T } from "@sinclair/typebox";
import { Filter, StoreReferences } from "../../wire/attributes.ts";
import {
  ignored,
  ignoredAs,
  nullable,
  oneOf,
  openObject,
  optional,
  readAs,
  rejected,
} from "../../wire/fields.ts";

const functionFields = {
  name: optional(
    T.String({
      pattern: "^[A-Za-z0-9_-]{1,64}$",
      "x-expected": "1 to 64 letters, digits, '_' or '-'",
    }),
    "Of a function, or of a namespace.",
  ),
  description: nullable(T.String(), "What the function does, for the model."),
  parameters: nullable(
    T.Record(T.String(), T.Unknown()),
    "JSON Schema of a function's arguments, which always validate against it. Absent: none.",
  ),
  strict: nullable(
    T.Boolean(),
    "Arguments are held to the schema. False: what of it a grammar cannot hold is let go; else it is refused.",
  ),
};

const type = T.String({ description: "`function`." });

const FunctionTool = openObject({
  type: T.Literal("function"),
  ...functionFields,
  output_schema: ignored("What a function returns is text."),
  allowed_callers: ignored("Only the model calls functions."),
  async: ignored("Calls are answered in the next turn."),
  defer_loading: ignored("The model is told of it at once."),
});

const NamespacedTool = readAs(openObject({ type, ...functionFields }), [FunctionTool], "ignored");

const namespaceTools = optional(
  T.Array(NamespacedTool, { maxItems: 128 }),
  "Of a namespace: its functions. What is not a function is left out.",
);

const Namespace = openObject({
  type: T.Literal("namespace"),
  name: optional(T.String(), "The model's names of the functions begin with it."),
  tools: namespaceTools,
  description: ignored("The model reads the descriptions of the functions."),
});

export const FileSearchTool = openObject({
  type: T.Literal("file_search"),
  vector_store_ids: {
    ...StoreReferences,
    description:
      "Ids or names of vector stores, searched as one with the last message of the user, before the answer begins. One search may be offered.",
  },
  filters: nullable(Filter, "Which of their files count."),
  max_num_results: nullable(
    T.Integer({ minimum: 1, maximum: 50 }),
    "Most passages; never more than the node's `rag.limit`.",
  ),
  ranking_options: nullable(
    openObject({
      ranker: nullable(
        oneOf(["auto", "default-2024-11-15"]),
        "Both are the node's: its reranking model, where it has one.",
      ),
      score_threshold: nullable(
        T.Number({ minimum: 0, maximum: 1 }),
        "Least score of a passage; never less than the node's `rag.score_threshold`.",
      ),
      hybrid_search: rejected(
        "cannot be honoured: how vectors and words count together is the node's, retrieval.mode. Leave it out",
      ),
    }),
    "How passages are ranked.",
  ),
});

export type FileSearchTool = Static<typeof FileSearchTool>;

/** A tool of any type: functions and searches are used, others are left out or rejected. */
export const ResponseTool = readAs(
  openObject({
    type: T.String({ description: "`function`, `namespace` or `file_search`." }),
    ...functionFields,
    tools: namespaceTools,
  }),
  [FunctionTool, Namespace, FileSearchTool],
  "ignored",
);

export type ResponseTool = Static<typeof ResponseTool>;

const functionName = {
  name: optional(T.String(), "Of the function that is to be called."),
  namespace: optional(T.String(), "The one that the function is in."),
};

const chosen = [
  openObject({ type: T.Literal("function"), ...functionName }),
  openObject({ type: T.Literal("file_search") }),
];

const allowed = {
  mode: optional(
    oneOf(["auto", "required"]),
    "Of `allowed_tools`: whether one of them must be called.",
  ),
  tools: optional(
    T.Array(readAs(openObject({ type: T.String(), ...functionName }), chosen), {
      minItems: 1,
      maxItems: 128,
    }),
    "Of `allowed_tools`: those that may be called, by type and name. The model is told of no others.",
  ),
};

/** A choice of any type. Required fields depend on the type, and are checked when it is read. */
const ChosenTool = readAs(
  openObject({
    type: T.String({ description: "`function`, `file_search` or `allowed_tools`." }),
    ...functionName,
    ...allowed,
  }),
  [...chosen, openObject({ type: T.Literal("allowed_tools"), ...allowed })],
);

export const ToolChoice = T.Union(
  [T.Literal("none"), T.Literal("auto"), T.Literal("required"), ChosenTool],
  {
    "x-expected":
      "'none', 'auto', 'required', {type: 'function', name}, {type: 'file_search'} or {type: 'allowed_tools', mode, tools}",
    description: "Whether tools are called, and which.",
  },
);

export type ToolChoice = Static<typeof ToolChoice>;

export const TextFormat = T.Union(
  [
    openObject({ type: T.Literal("text") }),
    openObject({ type: T.Literal("json_object") }),
    openObject({
      type: T.Literal("json_schema"),
      name: optional(T.String(), "What the format is called."),
      description: nullable(T.String(), "What the format is for."),
      schema: T.Unknown({ description: "JSON Schema of the text." }),
      strict: nullable(T.Boolean(), "The text is always held to the schema."),
    }),
  ],
  {
    "x-expected": "{type: 'text'}, {type: 'json_object'} or {type: 'json_schema', name, schema}",
    description:
      "The text's form, held by a grammar while it is generated: unless the response is `incomplete`, it parses and validates.",
  },
);

export type TextFormat = Static<typeof TextFormat>;

/** Values of `include` that this node supports: details shown only on request. */
export const served = {
  searchResults: "file_search_call.results",
  logprobs: "message.output_text.logprobs",
} as const;

const noTool = "The node does not have the tool.";

/** All values of `include` in OpenAI's API. */
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
