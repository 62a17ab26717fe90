/** Schemas of requests of Anthropic's Messages API. */
import { type Static, Type as T } from "@sinclair/typebox";
import {
  accepted,
  acceptedAs,
  ignored,
  ignoredAs,
  nullable,
  oneOf,
  openObject,
  optional,
  rejected,
} from "../../wire/fields.ts";
import { samplingFields } from "../../wire/generation-fields.ts";
import { ragField } from "../../wire/grounding.ts";

const cached = {
  cache_control: accepted("The node finds what it has evaluated before by itself."),
};
const thinksAsLong = "A model thinks as long as it does.";
const ofEarlierThoughts = "Models are not shown their earlier thoughts.";

/** A block of any type; types other than text and tools are rejected when it is read. */
const InnerBlock = openObject({
  type: T.String({ description: "`text`." }),
  text: optional(T.String(), "The text."),
  citations: accepted("They are not part of the text."),
  ...cached,
});

const TextBlocks = T.Union([T.String(), T.Array(InnerBlock)], {
  "x-expected": "a string or a list of content blocks",
  description: "Text, or a list of blocks `{type: 'text', text}`, joined with a blank line.",
});

export type TextBlocks = Static<typeof TextBlocks>;

export const Block = openObject({
  type: T.String({
    description:
      "`text`; in a message of the assistant's also `tool_use`, `thinking` and `redacted_thinking`, in one of the user's `tool_result`. Images, documents, search results and the blocks of Anthropic's own tools are rejected: the models read text only.",
  }),
  text: optional(T.String(), "Of `text`."),
  id: optional(T.String({ minLength: 1 }), "Of `tool_use`: the call's id."),
  name: optional(T.String({ minLength: 1 }), "Of `tool_use`: the tool."),
  input: optional(
    T.Unknown(),
    "Of `tool_use`: the arguments, an object. Each call is answered in the turn right after it.",
  ),
  tool_use_id: optional(
    T.String({ minLength: 1 }),
    "Of `tool_result`: the call that it answers. Results come before texts in their turn.",
  ),
  content: nullable(TextBlocks, "Of `tool_result`: what the tool answered."),
  is_error: nullable(
    T.Boolean(),
    "Of `tool_result`: whether the tool failed. The model reads the result behind the word `Error:`.",
    false,
  ),
  thinking: T.Optional(acceptedAs(T.String(), `Of \`thinking\`. ${ofEarlierThoughts}`)),
  signature: T.Optional(acceptedAs(T.String(), "Of `thinking`. The node does not check it.")),
  data: T.Optional(acceptedAs(T.String(), `Of \`redacted_thinking\`. ${ofEarlierThoughts}`)),
  citations: accepted("Of `text`: clients send them back of an earlier answer."),
  caller: accepted("Of `tool_use`: it is always the model."),
  toolset_name: ignored("The node has no toolsets."),
  ...cached,
});

export type Block = Static<typeof Block>;

const Message = openObject({
  role: oneOf(["user", "assistant", "system"], {
    description: "`system` is for instructions during the conversation.",
  }),
  content: T.Union([T.String(), T.Array(Block, { minItems: 1 })], {
    "x-expected": "a string or a list of content blocks",
    description:
      "Text, or a list of content blocks. Texts of the user's are joined with a blank line, those of the assistant's as they are.",
  }),
  clear_at: ignored("Instructions stay in the conversation as long as they are sent."),
  output_config: ignored(thinksAsLong),
});

export type Message = Static<typeof Message>;

const Messages = T.Array(Message, {
  minItems: 1,
  description:
    "The conversation so far; messages of one role that follow each other count as one, with a blank line between their texts. At least one is the user's, and the last is not the assistant's (prefill): ask for a form of the answer in `system` or with `output_config.format`. No more than the node takes: 2048 unless configured.",
});

const Tool = openObject({
  type: nullable(
    T.String(),
    "`custom`, which may be left out. The tools that Anthropic runs or describes are rejected.",
  ),
  name: optional(
    T.String({
      pattern: "^[A-Za-z0-9_-]{1,128}$",
      "x-expected": "1 to 128 letters, digits, '_' or '-'",
    }),
    "Required.",
  ),
  description: nullable(T.String(), "What the tool does, for the model."),
  input_schema: nullable(
    T.Record(T.String(), T.Unknown()),
    "JSON Schema of the input. A grammar holds the input to it, unless `max_tokens` cuts it. Required.",
  ),
  strict: nullable(
    T.Boolean(),
    "A schema that uses what a grammar cannot hold is rejected. Without it, those parts of the schema are described to the model and not held.",
  ),
  eager_input_streaming: accepted("A streamed input always comes as it is written."),
  ...cached,
  allowed_callers: ignored("The node runs no code that could call tools.", {
    unless: (value) => Array.isArray(value) && value.includes("direct"),
    except: "a list with `direct`",
  }),
  defer_loading: ignored("Every tool is described to the model.", {
    unless: (value) => value === false,
    except: "`false`",
  }),
  input_examples: ignored("Put examples into `description`."),
});

const parallel = {
  disable_parallel_tool_use: nullable(
    T.Boolean(),
    "Whether one answer calls one tool. Several come only from models whose template has a place for them.",
    false,
  ),
};

const ToolChoice = T.Union(
  [
    openObject({ type: T.Literal("auto"), ...parallel }),
    openObject({ type: T.Literal("any"), ...parallel }),
    openObject({
      type: T.Literal("tool"),
      name: T.String({ description: "The answer is a call of this tool." }),
      ...parallel,
    }),
    openObject({
      type: T.Literal("none"),
      disable_parallel_tool_use: accepted("No tool is called."),
    }),
  ],
  { "x-expected": "{type: 'auto'}, {type: 'any'}, {type: 'tool', name} or {type: 'none'}" },
);

const display = nullable(
  T.Union([
    T.Literal("summarized"),
    T.Literal("omitted"),
    ignoredAs(T.Literal("updates"), "The thoughts come as they are."),
  ]),
  "`omitted`: blocks of thoughts come without their text. `summarized`: they come as they are.",
);
const noDisplay = accepted("There are no thoughts to show, or all are shown.");
const block_binding = ignored("Thoughts that are sent back are not checked.");

const Thinking = T.Union(
  [
    openObject({
      type: T.Literal("enabled"),
      budget_tokens: T.Optional(
        ignoredAs(T.Integer(), `${thinksAsLong} \`max_tokens\` bounds thoughts and answer.`),
      ),
      display,
      block_binding,
    }),
    openObject({ type: T.Literal("adaptive"), display, block_binding }),
    openObject({
      type: ignoredAs(T.Literal("between_tools"), "The model decides when it thinks."),
      display: noDisplay,
    }),
    openObject({ type: T.Literal("disabled"), display: noDisplay }),
  ],
  {
    "x-expected": "{type: 'enabled', budget_tokens}, {type: 'adaptive'} or {type: 'disabled'}",
  },
);

const OutputFormat = openObject({
  type: T.Literal("json_schema"),
  schema: T.Record(T.String(), T.Unknown(), { description: "JSON Schema of the answer." }),
});

/** An empty list asks for nothing. */
const unlessEmpty = { unless: (value: unknown) => Array.isArray(value) && value.length === 0 };

/** The fields that messages and `count_tokens` share. */
const prompt = {
  model: T.String({
    minLength: 1,
    description: "Name of a chat model of this node. Another name is a 404 that lists them.",
  }),
  messages: Messages,
  system: nullable(TextBlocks, "The system prompt: a text, or blocks joined with a blank line."),
  tools: nullable(T.Array(Tool, { maxItems: 128 }), "Tools that the model may call."),
  tool_choice: nullable(ToolChoice, "Whether tools are called.", { type: "auto" }),
  thinking: nullable(
    Thinking,
    "A reasoning model thinks by itself, and its thoughts come as `thinking` blocks. With the type `disabled` they are left out of the answer; `output_tokens` counts them still.",
  ),
  output_config: nullable(
    openObject({
      format: nullable(OutputFormat, "The answer's form."),
      effort: ignored(thinksAsLong),
      task_budget: ignored("`max_tokens` bounds one answer."),
    }),
    "The answer's form, held by a grammar while it is generated: unless `max_tokens` cuts it short, it parses and validates.",
  ),
  output_format: nullable(
    OutputFormat,
    "The older name of `output_config.format`. Both together are rejected.",
  ),
  ...cached,
  metadata: accepted("The answer does not depend on the caller."),
  service_tier: accepted("There is one tier."),
  speed: accepted("There is one speed: the machine's."),
  user_profile_id: accepted("The answer does not depend on the caller."),
  workspace_id: accepted("The answer does not depend on the caller."),
  diagnostics: ignored("`cache_read_input_tokens` says how much of a prompt was cached."),
  context_management: ignored("Conversations are not shortened; one that is too long is a 400."),
  compaction: ignored("Conversations are not shortened; one that is too long is a 400."),
  fallbacks: ignored("No other model answers in the place of the one named."),
  fallback_credit_token: ignored("The node has nothing to credit."),
  betas: ignored("A header in Anthropic's package: see below."),
  thread: rejected(
    "cannot be honoured: this node stores no conversations; send all messages, without 'thread'",
    unlessEmpty,
  ),
  container: rejected("cannot be honoured: this node runs no code", unlessEmpty),
  mcp_servers: rejected(
    "cannot be honoured: this node calls no MCP servers; send their tools as 'tools'",
    { ...unlessEmpty, except: "an empty list" },
  ),
  inference_geo: rejected("cannot be honoured: this node's models run where they run", unlessEmpty),
};

export const MessageRequest = openObject({
  ...prompt,
  max_tokens: T.Integer({
    minimum: 1,
    description: "Most tokens of the answer, which then ends with the reason `max_tokens`.",
  }),
  stop_sequences: nullable(
    T.Array(T.String({ minLength: 1 }), { maxItems: 16 }),
    "Up to 16 texts that end the answer; they are not part of it. The answer names the one that was met; of a model on a remote server only where that server tells (vLLM, SGLang).",
  ),
  ...samplingFields,
  rag: ragField,
  stream: nullable(T.Boolean(), "Send the answer in pieces as they are generated.", false),
});

export type MessageRequest = Static<typeof MessageRequest>;

export const CountTokensRequest = openObject(prompt);

export type CountTokensRequest = Static<typeof CountTokensRequest>;
