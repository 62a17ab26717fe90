/** Schemas of requests of Anthropic's Messages API. */
import { type Static, Type as T } from "@sinclair/typebox";
import {
  accepted,
  acceptedAs,
  flag,
  ignored,
  ignoredAs,
  JsonSchema,
  modelName,
  nonEmpty,
  nullable,
  oneOf,
  openObject,
  optional,
  rejected,
  toolName,
} from "../../wire/fields.ts";
import { noEffort, samplingFields } from "../../wire/generation-fields.ts";
import { ragField } from "../../wire/grounding.ts";

const cached = { cache_control: accepted("The node caches prompts by itself.") };
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
      "`text`; of the assistant also `tool_use`, `thinking` and `redacted_thinking`; of the user also `tool_result`. Images, documents, search results and blocks of Anthropic's own tools are rejected: the models read text only.",
  }),
  text: optional(T.String(), "Of `text`."),
  id: optional(nonEmpty, "Of `tool_use`: the call's id."),
  name: optional(nonEmpty, "Of `tool_use`: the tool."),
  input: optional(
    T.Unknown(),
    "Of `tool_use`: the arguments, an object. The next turn must answer each call.",
  ),
  tool_use_id: optional(
    nonEmpty,
    "Of `tool_result`: the call that it answers. Results come before texts in their turn.",
  ),
  content: nullable(TextBlocks, "Of `tool_result`: the tool's answer."),
  is_error: flag(
    "Of `tool_result`: whether the tool failed. The model then reads `Error:` before the result.",
    false,
  ),
  thinking: T.Optional(acceptedAs(T.String(), `Of \`thinking\`. ${ofEarlierThoughts}`)),
  signature: T.Optional(acceptedAs(T.String(), "Of `thinking`. The node does not check it.")),
  data: T.Optional(acceptedAs(T.String(), `Of \`redacted_thinking\`. ${ofEarlierThoughts}`)),
  citations: accepted("Of `text`, sent back from an earlier answer."),
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
      "Text, or a list of content blocks. Texts of the user are joined with a blank line, those of the assistant without.",
  }),
  clear_at: ignored("Instructions count as long as they are sent."),
  output_config: ignored(noEffort),
});

export type Message = Static<typeof Message>;

const Messages = T.Array(Message, {
  minItems: 1,
  description:
    "The conversation so far; consecutive messages of one role are joined with a blank line. At least one is the user's, and the last is not the assistant's (prefill): ask for a format in `system` or with `output_config.format`. At most `limits.max_messages`, by default 2048.",
});

const Tool = openObject({
  type: nullable(T.String(), "`custom`, the default. Anthropic's own tools are rejected."),
  name: T.Optional(toolName(128, "Required.")),
  description: nullable(T.String(), "What the tool does, for the model."),
  input_schema: nullable(
    JsonSchema,
    "Required. JSON Schema of the input, enforced by a grammar, unless `max_tokens` ends it.",
  ),
  strict: flag(
    "Rejects a schema that a grammar cannot enforce. Otherwise the model is only told of the parts that cannot be enforced.",
  ),
  eager_input_streaming: accepted("Inputs are always streamed as they are generated."),
  ...cached,
  allowed_callers: ignored("The node runs no code that could call tools.", {
    unless: (value) => Array.isArray(value) && value.includes("direct"),
    except: "a list with `direct`",
  }),
  defer_loading: ignored("The model is told of every tool.", {
    unless: (value) => value === false,
    except: "`false`",
  }),
  input_examples: ignored("Put examples into `description`."),
});

const parallel = {
  disable_parallel_tool_use: flag(
    "Whether an answer has at most one call. Several need a model whose template supports them.",
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
    ignoredAs(T.Literal("updates"), "Thoughts are sent in full."),
  ]),
  "`omitted`: blocks of thoughts are sent without text. `summarized`: they are sent in full.",
);
const noDisplay = accepted("There are no thoughts to show, or all are shown.");
const block_binding = ignored("Thoughts that are sent back are not checked.");

const Thinking = T.Union(
  [
    openObject({
      type: T.Literal("enabled"),
      budget_tokens: T.Optional(
        ignoredAs(T.Integer(), `${noEffort} \`max_tokens\` limits thoughts and answer.`),
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
  { "x-expected": "{type: 'enabled', budget_tokens}, {type: 'adaptive'} or {type: 'disabled'}" },
);

const OutputFormat = openObject({
  type: T.Literal("json_schema"),
  schema: { ...JsonSchema, description: "JSON Schema of the answer." },
});

/** An empty list asks for nothing. */
const unlessEmpty = { unless: (value: unknown) => Array.isArray(value) && value.length === 0 };
const tooLong = "Conversations are not shortened; one that is too long is rejected with 400.";

/** The fields that messages and `count_tokens` share. */
const prompt = {
  model: modelName("a chat model"),
  messages: Messages,
  system: nullable(TextBlocks, "The system prompt: a text, or blocks joined with a blank line."),
  tools: nullable(T.Array(Tool, { maxItems: 128 }), "Tools that the model may call."),
  tool_choice: nullable(ToolChoice, "Whether tools are called.", { type: "auto" }),
  thinking: nullable(
    Thinking,
    "A reasoning model always thinks, and sends its thoughts as `thinking` blocks. `disabled` hides them; `output_tokens` still counts them.",
  ),
  output_config: nullable(
    openObject({
      format: nullable(OutputFormat, "The answer's format."),
      effort: ignored(noEffort),
      task_budget: ignored("`max_tokens` limits one answer."),
    }),
    "The answer's format, enforced by a grammar: the answer is valid, unless `max_tokens` ends it.",
  ),
  output_format: nullable(
    OutputFormat,
    "Older name of `output_config.format`. Both together are rejected.",
  ),
  ...cached,
  metadata: accepted("The answer does not depend on the caller."),
  service_tier: accepted("There is one tier."),
  speed: accepted("There is one speed."),
  user_profile_id: accepted("The answer does not depend on the caller."),
  workspace_id: accepted("The answer does not depend on the caller."),
  diagnostics: ignored("`cache_read_input_tokens` says how much of a prompt was cached."),
  context_management: ignored(tooLong),
  compaction: ignored(tooLong),
  fallbacks: ignored("No other model answers instead."),
  fallback_credit_token: ignored("The node has no credits."),
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
    description: "Most tokens of the answer; it then ends with the reason `max_tokens`.",
  }),
  stop_sequences: nullable(
    T.Array(nonEmpty, { maxItems: 16 }),
    "Up to 16 texts that end the answer and are not part of it. The answer names the one that ended it; for an upstream model only if its server does (vLLM, SGLang).",
  ),
  ...samplingFields,
  rag: ragField,
  stream: flag("Send the answer in pieces as they are generated.", false),
});

export type MessageRequest = Static<typeof MessageRequest>;

export const CountTokensRequest = openObject(prompt);

export type CountTokensRequest = Static<typeof CountTokensRequest>;
