/** Content blocks and messages of Anthropic's API, as requests have them. */
import { type Static, Type as T } from "@sinclair/typebox";
import { nullable, open } from "../../wire/fields.ts";

/** A block of any type; what is not text or of tools is refused by its name. */
export const InnerBlock = T.Object({ type: T.String(), text: T.Optional(T.String()) }, open);

export const TextBlocks = T.Union([T.String(), T.Array(InnerBlock)], {
  "x-expected": "a string or a list of content blocks",
  description: "Text, or a list of blocks `{type: 'text', text}`.",
});

export type TextBlocks = Static<typeof TextBlocks>;

export const Block = T.Object(
  {
    type: T.String({
      description:
        "`text`; in a message of the assistant's also `tool_use`, `thinking` and `redacted_thinking`, in one of the user's `tool_result`.",
    }),
    text: T.Optional(T.String({ description: "Of `text`." })),
    id: T.Optional(T.String({ minLength: 1, description: "Of `tool_use`: the call's id." })),
    name: T.Optional(T.String({ minLength: 1, description: "Of `tool_use`: the tool." })),
    input: T.Optional(T.Unknown({ description: "Of `tool_use`: the arguments, an object." })),
    tool_use_id: T.Optional(
      T.String({ minLength: 1, description: "Of `tool_result`: the call that it answers." }),
    ),
    content: nullable(TextBlocks, "Of `tool_result`: what the tool answered."),
    is_error: nullable(T.Boolean(), "Of `tool_result`: whether the tool failed.", false),
    thinking: T.Optional(T.String({ description: "Of `thinking`." })),
    signature: T.Optional(T.String({ description: "Of `thinking`." })),
    data: T.Optional(T.String({ description: "Of `redacted_thinking`." })),
  },
  open,
);

export type Block = Static<typeof Block>;

const Message = T.Object(
  {
    role: T.Union([T.Literal("user"), T.Literal("assistant"), T.Literal("system")]),
    content: T.Union([T.String(), T.Array(Block, { minItems: 1 })], {
      "x-expected": "a string or a list of content blocks",
      description: "Text, or a list of content blocks.",
    }),
  },
  open,
);

export type Message = Static<typeof Message>;

export const Messages = T.Array(Message, {
  minItems: 1,
  description:
    "The conversation so far; messages of one role that follow each other count as one. At least one is the user's, and the last is not the assistant's. No more than the node takes: 2048 unless configured.",
});
