/** Tools that are offered and which of them is to be called: checked together, whatever API says it. */
import type { Tool, ToolChoice, ToolUse } from "../../core/ports/chat-engine.ts";
import { quoted } from "../../core/quoted.ts";
import { refuse } from "./refuse.ts";

interface OfferedTools {
  tools: readonly Tool[];
  /** Absent: `auto`. */
  choice: ToolChoice | "none" | null | undefined;
  parallel: boolean;
}

/** What the caller calls the fields. */
interface FieldNames {
  /** The name of a tool, by its place. */
  tool: (at: number) => string;
  /** The name of the one that is chosen. */
  choice: string;
}

/** Undefined where no tool may be called. */
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
  throw refuse(fields.choice, `${quoted(name)} is not one of the tools: ${names.join(", ")}`);
}
