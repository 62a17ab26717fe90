/** Schemas of OpenAI's chat messages and function tools; apart, since the page uses their types. */
import { type Static, Type as T } from "@sinclair/typebox";
import * as f from "./fields.ts";

/** A content part of any type; only texts and images are accepted when it is read. */
const Part = f.openObject({
  type: T.String({ description: "`text`, `image_url` or `refusal`." }),
  text: T.Optional(T.String({ description: "Of `text`: the text." })),
  refusal: T.Optional(
    T.String({ description: "Of `refusal`: the text of an earlier answer that refused." }),
  ),
  image_url: T.Optional(
    f.openObject(
      {
        url: T.String({ description: f.imageAddress }),
        detail: f.nullable(T.String(), "Passed on to the model's server."),
      },
      { description: "Of `image_url`: the image." },
    ),
  ),
});

/** Calls of an earlier answer that clients send back, with fields of its stream. */
const FunctionCall = f.unexamined(f.openObject({ name: f.nonEmpty, arguments: T.String() }));
const SentCall = f.unexamined(
  f.openObject({ id: f.nonEmpty, type: T.Literal("function"), function: FunctionCall }),
);

export const Message = f.openObject({
  role: f.oneOf(["system", "developer", "user", "assistant", "tool", "function"], {
    description: "`developer` counts as `system`; `function` is the older form of `tool`.",
  }),
  content: f.optional(
    T.Union([T.String(), T.Array(Part, { minItems: 1 }), T.Null()], {
      "x-expected": "a string or a list of content parts",
    }),
    "Text, or a list of parts: texts are joined, and images keep their places. Images are for messages of the user and results of tools, in a chat with a model that reads them. Required, unless an assistant calls tools.",
  ),
  tool_calls: f.nullable(T.Array(SentCall), "An assistant's calls."),
  function_call: f.nullable(
    FunctionCall,
    "The older form of an assistant's call; the next message has the role `function`.",
  ),
  tool_call_id: f.nullable(f.nonEmpty, "The call that a tool answers."),
  name: f.ignored("The models' templates have no place for the writer's name.", {
    // Here it names the function; the message always answers the call before it.
    unless: (_, message) => Reflect.get(message, "role") === "function",
    except: "with the role `function`",
  }),
  refusal: f.accepted("Clients send it back of an earlier answer."),
  annotations: f.accepted("Clients send them back of an earlier answer."),
  reasoning_content: f.accepted("Models are not shown their earlier thoughts."),
  audio: f.rejected("cannot be honoured: this node's models read text only"),
});

export type Message = Static<typeof Message>;

export const Messages = T.Array(Message, {
  minItems: 1,
  description:
    "The conversation so far, with at least one message of the user. At most `limits.max_messages`, by default 2048.",
});

export type Part = Static<typeof Part>;

export const FunctionTool = f.openObject({
  type: T.Literal("function"),
  function: f.openObject(
    {
      name: f.toolName(64, "The function's name."),
      description: f.nullable(T.String(), "What the function does, for the model."),
      parameters: f.nullable(
        f.JsonSchema,
        "JSON Schema of the arguments, which always follow it. Absent: none.",
      ),
      strict: f.flag("The arguments always follow the schema."),
    },
    { description: "The function." },
  ),
});
