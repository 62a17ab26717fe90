/** Schemas of requests of Anthropic's Messages API. */
import { type Static, Type as T } from "@sinclair/typebox";
import * as f from "../../wire/fields.ts";
import { noEffort, samplingFields } from "../../wire/generation-fields.ts";
import { ragField } from "../../wire/grounding.ts";

const cached = { cache_control: f.accepted("The node caches prompts by itself.") };
const ofEarlierThoughts = "Models are not shown their earlier thoughts.";

const source = f.optional(
  T.Union(
    [
      f.openObject({
        type: T.Literal("base64"),
        media_type: T.String({
          description: "`image/png`, `image/jpeg`, `image/webp` or `image/gif`, as its content is.",
        }),
        data: T.String({ description: "The image, of at most `limits.max_image_bytes`." }),
      }),
      f.openObject({ type: T.Literal("url"), url: T.String({ description: f.imageAddress }) }),
      f.openObject({
        type: T.Literal("file"),
        file_id: T.String({
          minLength: 1,
          description: "An uploaded file. The key needs the scope `documents`.",
        }),
      }),
    ],
    {
      "x-expected":
        "{type: 'base64', media_type, data}, {type: 'url', url} or {type: 'file', file_id}",
    },
  ),
  "Of `image`: the image.",
);

const innerFields = {
  text: f.optional(T.String(), "The text."),
  citations: f.accepted("They are not part of the text."),
  ...cached,
};

/** Blocks of any type; types other than text, images and tools are rejected when they are read. */
const SystemBlock = f.openObject({
  type: T.String({ description: "`text`." }),
  ...innerFields,
});
const ResultBlock = f.openObject({
  type: T.String({ description: "`text` or `image`." }),
  source,
  ...innerFields,
});

const expectedBlocks = { "x-expected": "a string or a list of content blocks" };

const SystemBlocks = T.Union([T.String(), T.Array(SystemBlock)], {
  ...expectedBlocks,
  description: "Text, or a list of blocks `{type: 'text', text}`, joined with a blank line.",
});

const ResultBlocks = T.Union([T.String(), T.Array(ResultBlock)], {
  ...expectedBlocks,
  description: "Text, or a list of blocks: texts are joined with a blank line.",
});

export type ResultBlocks = Static<typeof ResultBlocks>;

export const Block = f.openObject({
  type: T.String({
    description:
      "`text`; of the assistant also `tool_use`, `thinking` and `redacted_thinking`; of the user also `tool_result`, and `image` for a model that reads images. Documents, search results and blocks of Anthropic's own tools are rejected.",
  }),
  text: f.optional(T.String(), "Of `text`."),
  source,
  id: f.optional(f.nonEmpty, "Of `tool_use`: the call's id."),
  name: f.optional(f.nonEmpty, "Of `tool_use`: the tool."),
  input: f.optional(
    T.Unknown(),
    "Of `tool_use`: the arguments, an object. The next turn must answer each call.",
  ),
  tool_use_id: f.optional(
    f.nonEmpty,
    "Of `tool_result`: the call that it answers. Results come before texts in their turn.",
  ),
  content: f.nullable(ResultBlocks, "Of `tool_result`: the tool's answer."),
  is_error: f.flag(
    "Of `tool_result`: whether the tool failed. The model then reads `Error:` before the result.",
    false,
  ),
  thinking: T.Optional(f.acceptedAs(T.String(), `Of \`thinking\`. ${ofEarlierThoughts}`)),
  signature: T.Optional(f.acceptedAs(T.String(), "Of `thinking`. The node does not check it.")),
  data: T.Optional(f.acceptedAs(T.String(), `Of \`redacted_thinking\`. ${ofEarlierThoughts}`)),
  citations: f.accepted("Of `text`, sent back from an earlier answer."),
  caller: f.accepted("Of `tool_use`: it is always the model."),
  toolset_name: f.ignored("The node has no toolsets."),
  ...cached,
});

export type Block = Static<typeof Block>;

const Message = f.openObject({
  role: f.oneOf(["user", "assistant", "system"], {
    description: "`system` is for instructions during the conversation.",
  }),
  content: T.Union([T.String(), T.Array(Block, { minItems: 1 })], {
    "x-expected": "a string or a list of content blocks",
    description:
      "Text, or a list of content blocks. Texts of the user are joined with a blank line, those of the assistant without.",
  }),
  clear_at: f.ignored("Instructions count as long as they are sent."),
  output_config: f.ignored(noEffort),
});

export type Message = Static<typeof Message>;

const Messages = T.Array(Message, {
  minItems: 1,
  description:
    "The conversation so far; consecutive messages of one role are joined with a blank line. At least one is the user's, and the last is not the assistant's (prefill): ask for a format in `system` or with `output_config.format`. At most `limits.max_messages`, by default 2048.",
});

const Tool = f.openObject({
  type: f.nullable(T.String(), "`custom`, the default. Anthropic's own tools are rejected."),
  name: T.Optional(f.toolName(128, "Required.")),
  description: f.nullable(T.String(), "What the tool does, for the model."),
  input_schema: f.nullable(
    f.JsonSchema,
    "Required. JSON Schema of the input, enforced by a grammar, unless `max_tokens` ends it.",
  ),
  strict: f.flag(
    "Rejects a schema that a grammar cannot enforce. Otherwise the model is only told of the parts that cannot be enforced.",
  ),
  eager_input_streaming: f.accepted("Inputs are always streamed as they are generated."),
  ...cached,
  allowed_callers: f.ignored("The node runs no code that could call tools.", {
    unless: (value) => Array.isArray(value) && value.includes("direct"),
    except: "a list with `direct`",
  }),
  defer_loading: f.ignored("The model is told of every tool.", {
    unless: (value) => value === false,
    except: "`false`",
  }),
  input_examples: f.ignored("Put examples into `description`."),
});

const parallel = {
  disable_parallel_tool_use: f.flag(
    "Whether an answer has at most one call. Several need a model whose template supports them.",
    false,
  ),
};

const ToolChoice = T.Union(
  [
    f.openObject({ type: T.Literal("auto"), ...parallel }),
    f.openObject({ type: T.Literal("any"), ...parallel }),
    f.openObject({
      type: T.Literal("tool"),
      name: T.String({ description: "The answer is a call of this tool." }),
      ...parallel,
    }),
    f.openObject({
      type: T.Literal("none"),
      disable_parallel_tool_use: f.accepted("No tool is called."),
    }),
  ],
  { "x-expected": "{type: 'auto'}, {type: 'any'}, {type: 'tool', name} or {type: 'none'}" },
);

const display = f.nullable(
  T.Union([
    T.Literal("summarized"),
    T.Literal("omitted"),
    f.ignoredAs(T.Literal("updates"), "Thoughts are sent in full."),
  ]),
  "`omitted`: blocks of thoughts are sent without text. `summarized`: they are sent in full.",
);
const noDisplay = f.accepted("There are no thoughts to show, or all are shown.");
const block_binding = f.ignored("Thoughts that are sent back are not checked.");

const Thinking = T.Union(
  [
    f.openObject({
      type: T.Literal("enabled"),
      budget_tokens: T.Optional(
        f.ignoredAs(T.Integer(), `${noEffort} \`max_tokens\` limits thoughts and answer.`),
      ),
      display,
      block_binding,
    }),
    f.openObject({ type: T.Literal("adaptive"), display, block_binding }),
    f.openObject({
      type: f.ignoredAs(T.Literal("between_tools"), "The model decides when it thinks."),
      display: noDisplay,
    }),
    f.openObject({ type: T.Literal("disabled"), display: noDisplay }),
  ],
  { "x-expected": "{type: 'enabled', budget_tokens}, {type: 'adaptive'} or {type: 'disabled'}" },
);

const OutputFormat = f.openObject({
  type: T.Literal("json_schema"),
  schema: { ...f.JsonSchema, description: "JSON Schema of the answer." },
});

/** An empty list asks for nothing. */
const unlessEmpty = { unless: (value: unknown) => Array.isArray(value) && value.length === 0 };
const tooLong = "Conversations are not shortened; one that is too long is rejected with 400.";

const prompt = {
  model: f.modelName("a chat model"),
  messages: Messages,
  system: f.nullable(
    SystemBlocks,
    "The system prompt: a text, or blocks joined with a blank line.",
  ),
  tools: f.nullable(T.Array(Tool, { maxItems: 128 }), "Tools that the model may call."),
  tool_choice: f.nullable(ToolChoice, "Whether tools are called.", { type: "auto" }),
  thinking: f.nullable(
    Thinking,
    "A reasoning model always thinks, and sends its thoughts as `thinking` blocks. `disabled` hides them; `output_tokens` still counts them.",
  ),
  output_config: f.nullable(
    f.openObject({
      format: f.nullable(OutputFormat, "The answer's format."),
      effort: f.ignored(noEffort),
      task_budget: f.ignored("`max_tokens` limits one answer."),
    }),
    "The answer's format, enforced by a grammar: the answer is valid, unless `max_tokens` ends it.",
  ),
  output_format: f.nullable(
    OutputFormat,
    "Older name of `output_config.format`. Both together are rejected.",
  ),
  ...cached,
  metadata: f.accepted("The answer does not depend on the caller."),
  service_tier: f.accepted("There is one tier."),
  speed: f.accepted("There is one speed."),
  user_profile_id: f.accepted("The answer does not depend on the caller."),
  workspace_id: f.accepted("The answer does not depend on the caller."),
  diagnostics: f.ignored("`cache_read_input_tokens` says how much of a prompt was cached."),
  context_management: f.ignored(tooLong),
  compaction: f.ignored(tooLong),
  fallbacks: f.ignored("No other model answers instead."),
  fallback_credit_token: f.ignored("The node has no credits."),
  betas: f.ignored("A header in Anthropic's package: see below."),
  thread: f.rejected(
    "cannot be honoured: this node stores no conversations; send all messages, without 'thread'",
    unlessEmpty,
  ),
  container: f.rejected("cannot be honoured: this node runs no code", unlessEmpty),
  mcp_servers: f.rejected(
    "cannot be honoured: this node calls no MCP servers; send their tools as 'tools'",
    { ...unlessEmpty, except: "an empty list" },
  ),
  inference_geo: f.rejected(
    "cannot be honoured: this node's models run where they run",
    unlessEmpty,
  ),
};

export const MessageRequest = f.openObject({
  ...prompt,
  max_tokens: T.Integer({
    minimum: 1,
    description: "Most tokens of the answer; it then ends with the reason `max_tokens`.",
  }),
  stop_sequences: f.nullable(
    T.Array(f.nonEmpty, { maxItems: 16 }),
    "Up to 16 texts that end the answer and are not part of it. The answer names the one that ended it; for an upstream model only if its server does (vLLM, SGLang).",
  ),
  ...samplingFields,
  rag: ragField,
  stream: f.flag("Send the answer in pieces as they are generated.", false),
});

export type MessageRequest = Static<typeof MessageRequest>;

export const CountTokensRequest = f.openObject(prompt);

export type CountTokensRequest = Static<typeof CountTokensRequest>;
