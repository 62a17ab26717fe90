/** Function tools as in OpenAI's chat API, and the check of `tool_choice`. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { Tool, ToolChoice, ToolUse } from "../../core/ports/chat-engine.ts";
import { quoted } from "../../core/quoted.ts";
import type { FieldNames } from "./field-names.ts";
import { nullable, open, refuse, withoutNulls } from "./fields.ts";

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

interface OfferedTools {
  tools: readonly Tool[];
  /** Absent: `auto`. */
  choice: ToolChoice | "none" | null | undefined;
  parallel: boolean;
}

/** Checks the tools and the choice together; undefined if no tool may be called. */
export function checkedToolUse(
  { tools, choice, parallel }: OfferedTools,
  fields: FieldNames,
): ToolUse | undefined {
  if (tools.length === 0) {
    if (choice === null || choice === undefined || choice === "none" || choice === "auto") {
      return undefined;
    }
    throw refuse("tool_choice", "needs 'tools' to choose from");
  }
  const names = tools.map(({ name }) => name);
  const twice = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (twice !== -1) {
    throw refuse(fields.tool(twice), `'${names[twice]}' is the name of another tool`);
  }
  if (choice === "none") return undefined;
  if (typeof choice !== "object" || choice === null) {
    return { tools, parallel, choice: choice ?? "auto" };
  }
  const { name } = choice;
  if (names.includes(name)) return { tools, parallel, choice: { name } };
  throw refuse(fields.choice(), `${quoted(name)} is not one of the tools: ${names.join(", ")}`);
}
