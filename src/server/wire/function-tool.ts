/** A function that a model may call, as the OpenAI API's chat has it. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { Tool } from "../../core/ports/chat-engine.ts";
import { nullable, open } from "./fields.ts";
import { withoutNulls } from "./without-nulls.ts";

export const FunctionTool = T.Object(
  {
    type: T.Literal("function"),
    function: T.Object(
      {
        name: T.String({
          pattern: "^[A-Za-z0-9_-]{1,64}$",
          description: "The function's name.",
          "x-expected": "1 to 64 letters, digits, '_' or '-'",
        }),
        description: nullable(T.String(), "What the function does, for the model."),
        parameters: nullable(
          T.Record(T.String(), T.Unknown()),
          "JSON Schema of the arguments, which always validate against it. Absent: none.",
        ),
        strict: nullable(T.Boolean(), "Arguments are always held to the schema."),
      },
      { ...open, description: "The function." },
    ),
  },
  open,
);

export function toTool({
  function: { name, description, parameters },
}: Pick<Static<typeof FunctionTool>, "function">): Tool {
  return { name, ...withoutNulls({ description, parameters }) };
}
