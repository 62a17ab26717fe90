/** Validates a conversation and its tools, for every API. Errors name the part they are about. */
import { NodeError, type Subject } from "../errors.ts";
import type { ChatMessage, Tool, ToolChoice, ToolUse } from "../ports/chat-engine.ts";
import { quoted, shortened } from "../quoted.ts";

/** Calls and results must pair up, and there must be a user message. `isPart`: more messages follow. `hasUser`: if roles alone do not show it. */
export function checkConversation(
  messages: readonly ChatMessage[],
  { isPart = false, hasUser }: { isPart?: boolean; hasUser?: boolean } = {},
): void {
  let open = new Set<string>();
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") {
      const { toolCallId: id } = message;
      if (open.delete(id)) continue;
      throw refused(`${quoted(id)} answers no tool call of the message before it.`, {
        part: "call",
        at,
      });
    }
    if (open.size > 0) throw unanswered(open, { part: "messages", at });
    const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
    open = new Set(calls.map(({ id }) => id));
  }
  if (isPart) return;
  if (open.size > 0) throw unanswered(open, { part: "messages" });
  if (hasUser ?? messages.some(({ role }) => role === "user")) return;
  throw refused("The conversation needs a message with the role 'user'.", { part: "messages" });
}

interface OfferedTools {
  tools: readonly Tool[];
  /** Absent: `auto`. */
  choice: ToolChoice | "none" | null | undefined;
  parallel: boolean;
}

/** Checks the tools and the choice together; undefined if no tool may be called. */
export function checkedToolUse({ tools, choice, parallel }: OfferedTools): ToolUse | undefined {
  const names = tools.map(({ name }) => name);
  const twice = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (twice !== -1) {
    throw refused(`'${names[twice]}' is the name of another tool.`, { part: "tool", at: twice });
  }
  const wanted = choice ?? "auto";
  if (wanted === "none" || (wanted === "auto" && tools.length === 0)) return undefined;
  if (tools.length === 0) throw refused("There are no tools to choose from.", { part: "choice" });
  if (typeof wanted === "string") return { tools, parallel, choice: wanted };
  if (names.includes(wanted.name)) return { tools, parallel, choice: { name: wanted.name } };
  const offered = `${quoted(wanted.name)} is not one of the tools: ${names.join(", ")}.`;
  throw refused(offered, { part: "chosen" });
}

const mostNamed = 8;

function unanswered(open: ReadonlySet<string>, subject: Subject): NodeError {
  const named = [...open].slice(0, mostNamed).map(shortened).join(", ");
  const rest = open.size > mostNamed ? ` and ${open.size - mostNamed} more` : "";
  return refused(
    `The tool calls ${named}${rest} have no result; results come right after their calls.`,
    subject,
  );
}

const refused = (message: string, subject: Subject): NodeError =>
  new NodeError("invalid_request", message, { subject });
