/** Message schemas of chat and retrieval; a separate file, since the page imports their types. */
import { type Static, Type as T } from "@sinclair/typebox";
import { accepted, ignored, nullable, oneOf, open, rejected, unexamined } from "./fields.ts";

/** A content part of any type; only text is accepted when it is read. */
const Part = unexamined(
  T.Object(
    { type: T.String(), text: T.Optional(T.String()), refusal: T.Optional(T.String()) },
    open,
  ),
);

const content = {
  "x-expected": "a string or a list of content parts",
  description: "Text, or a list of text parts that are joined.",
};

/** Calls of an earlier answer that clients send back, with fields of its stream. */
const FunctionCall = unexamined(
  T.Object({ name: T.String({ minLength: 1 }), arguments: T.String() }, open),
);
const ToolCall = unexamined(
  T.Object(
    { id: T.String({ minLength: 1 }), type: T.Literal("function"), function: FunctionCall },
    open,
  ),
);

export const Message = T.Object(
  {
    role: oneOf(["system", "developer", "user", "assistant", "tool", "function"], {
      description: "`developer` counts as `system`; `function` is the older form of `tool`.",
    }),
    content: T.Optional(
      T.Union([T.String(), T.Array(Part, { minItems: 1 }), T.Null()], {
        ...content,
        description: `${content.description} Required, except for an assistant's tool calls.`,
      }),
    ),
    tool_calls: nullable(T.Array(ToolCall, { description: "An assistant's calls." })),
    function_call: nullable(
      FunctionCall,
      "The older form of an assistant's call; the next message has the role `function`.",
    ),
    tool_call_id: nullable(T.String({ minLength: 1, description: "The call a tool answers." })),
    name: ignored("The models' templates have no place for the writer's name.", {
      // Here it names the function; the message always answers the call before it.
      unless: (_, message) => Reflect.get(message, "role") === "function",
      except: "with the role `function`",
    }),
    refusal: accepted("Clients send it back of an earlier answer."),
    annotations: accepted("Clients send them back of an earlier answer."),
    reasoning_content: accepted("Models are not shown their earlier thoughts."),
    audio: rejected("cannot be honoured: this node's models read text only"),
  },
  open,
);

export type Message = Static<typeof Message>;

export const Messages = T.Array(Message, {
  minItems: 1,
  description:
    "The conversation so far. At least one message is the user's; a system message is optional. No more than the node takes: 2048 unless configured.",
});

export type Part = Static<typeof Part>;
