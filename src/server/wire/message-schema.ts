/** Schemas of OpenAI's chat messages and function tools; apart, since the page uses their types. */
import { type Static, Type as T } from "@sinclair/typebox";
import {
  accepted,
  flag,
  ignored,
  JsonSchema,
  nonEmpty,
  nullable,
  oneOf,
  openObject,
  optional,
  rejected,
  toolName,
  unexamined,
} from "./fields.ts";

/** A content part of any type; only text is accepted when it is read. */
const Part = unexamined(
  openObject({ type: T.String(), text: T.Optional(T.String()), refusal: T.Optional(T.String()) }),
);

/** Calls of an earlier answer that clients send back, with fields of its stream. */
const FunctionCall = unexamined(openObject({ name: nonEmpty, arguments: T.String() }));
const SentCall = unexamined(
  openObject({ id: nonEmpty, type: T.Literal("function"), function: FunctionCall }),
);

export const Message = openObject({
  role: oneOf(["system", "developer", "user", "assistant", "tool", "function"], {
    description: "`developer` counts as `system`; `function` is the older form of `tool`.",
  }),
  content: optional(
    T.Union([T.String(), T.Array(Part, { minItems: 1 }), T.Null()], {
      "x-expected": "a string or a list of content parts",
    }),
    "Text, or a list of text parts that are joined. Required, unless an assistant calls tools.",
  ),
  tool_calls: nullable(T.Array(SentCall), "An assistant's calls."),
  function_call: nullable(
    FunctionCall,
    "The older form of an assistant's call; the next message has the role `function`.",
  ),
  tool_call_id: nullable(nonEmpty, "The call that a tool answers."),
  name: ignored("The models' templates have no place for the writer's name.", {
    // Here it names the function; the message always answers the call before it.
    unless: (_, message) => Reflect.get(message, "role") === "function",
    except: "with the role `function`",
  }),
  refusal: accepted("Clients send it back of an earlier answer."),
  annotations: accepted("Clients send them back of an earlier answer."),
  reasoning_content: accepted("Models are not shown their earlier thoughts."),
  audio: rejected("cannot be honoured: this node's models read text only"),
});

export type Message = Static<typeof Message>;

export const Messages = T.Array(Message, {
  minItems: 1,
  description:
    "The conversation so far, with at least one message of the user. At most `limits.max_messages`, by default 2048.",
});

export type Part = Static<typeof Part>;

export const FunctionTool = openObject({
  type: T.Literal("function"),
  function: openObject(
    {
      name: toolName(64, "The function's name."),
      description: nullable(T.String(), "What the function does, for the model."),
      parameters: nullable(
        JsonSchema,
        "JSON Schema of the arguments, which always follow it. Absent: none.",
      ),
      strict: flag("The arguments always follow the schema."),
    },
    { description: "The function." },
  ),
});
