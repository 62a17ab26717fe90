/** Requests of Anthropic's Messages API on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";
import { nullable, open } from "../../wire/fields.ts";
import { ragField } from "../../wire/rag-schema.ts";
import { samplingFields } from "../../wire/sampling.ts";
import { Messages, TextBlocks } from "./content-schema.ts";

const Tool = T.Object(
  {
    type: nullable(T.String(), "`custom`, which may be left out."),
    name: T.Optional(
      T.String({
        pattern: "^[A-Za-z0-9_-]{1,128}$",
        "x-expected": "1 to 128 letters, digits, '_' or '-'",
        description: "Required.",
      }),
    ),
    description: nullable(T.String(), "What the tool does, for the model."),
    input_schema: nullable(
      T.Record(T.String(), T.Unknown()),
      "JSON Schema of the input, which always validates against it. Required.",
    ),
    strict: nullable(T.Boolean(), "The input is always held to the schema."),
  },
  open,
);

const parallel = {
  disable_parallel_tool_use: nullable(T.Boolean(), "Whether one answer calls one tool.", false),
};

const ToolChoice = T.Union(
  [
    T.Object({ type: T.Literal("auto"), ...parallel }, open),
    T.Object({ type: T.Literal("any"), ...parallel }, open),
    T.Object({ type: T.Literal("tool"), name: T.String(), ...parallel }, open),
    T.Object({ type: T.Literal("none") }, open),
  ],
  { "x-expected": "{type: 'auto'}, {type: 'any'}, {type: 'tool', name} or {type: 'none'}" },
);

const display = nullable(
  T.Union([T.Literal("summarized"), T.Literal("omitted"), T.Literal("updates")]),
  "`omitted`: blocks of thoughts come without their text.",
);

const Thinking = T.Union(
  [
    T.Object({ type: T.Literal("enabled"), budget_tokens: T.Optional(T.Integer()), display }, open),
    T.Object({ type: T.Literal("adaptive"), display }, open),
    T.Object({ type: T.Literal("between_tools") }, open),
    T.Object({ type: T.Literal("disabled") }, open),
  ],
  {
    "x-expected": "{type: 'enabled', budget_tokens}, {type: 'adaptive'} or {type: 'disabled'}",
  },
);

const OutputFormat = T.Object(
  {
    type: T.Literal("json_schema"),
    schema: T.Record(T.String(), T.Unknown(), { description: "JSON Schema of the answer." }),
  },
  open,
);

/** What is counted is what would be answered. */
const prompt = {
  model: T.String({ minLength: 1, description: "Name of a chat model of this node." }),
  messages: Messages,
  system: nullable(TextBlocks, "The system prompt."),
  tools: nullable(T.Array(Tool, { maxItems: 128 }), "Tools that the model may call."),
  tool_choice: nullable(ToolChoice, "Whether tools are called.", { type: "auto" }),
  thinking: nullable(
    Thinking,
    "A reasoning model's thoughts come as blocks of their own, unless the type is `disabled`. Models think as long as they do: `budget_tokens` is not acted on.",
  ),
  output_config: nullable(
    T.Object({ format: nullable(OutputFormat, "The answer's form.") }, open),
    "The answer's form, held by a grammar while it is generated: unless `max_tokens` cuts it short, it parses and validates.",
  ),
  output_format: nullable(OutputFormat, "The older name of `output_config.format`."),
};

export const MessageRequest = T.Object(
  {
    ...prompt,
    max_tokens: T.Integer({ minimum: 1, description: "Most tokens of the answer." }),
    stop_sequences: nullable(
      T.Array(T.String({ minLength: 1 }), { maxItems: 16 }),
      "Up to 16 texts that end the answer; they are not part of it.",
    ),
    ...samplingFields,
    rag: ragField,
    stream: nullable(T.Boolean(), "Send the answer in pieces as they are generated.", false),
  },
  open,
);

export type MessageRequest = Static<typeof MessageRequest>;

export const CountTokensRequest = T.Object(prompt, open);

export type CountTokensRequest = Static<typeof CountTokensRequest>;
