/** Messages between the wire and the domain: joined, complete, and refused by name where they are not. */
import { NodeError } from "../../core/errors.ts";
import type { ChatMessage, ToolCall } from "../../core/ports/chat-engine.ts";
import { quoted, shortened } from "../../core/quoted.ts";
import { excessText, JsonSize } from "../json-size.ts";
import type { Content, Message } from "./message-schema.ts";
import { refuse } from "./refuse.ts";
import { type PartTypes, textOfParts } from "./text-parts.ts";

export function toChatMessages(sent: readonly Message[]): ChatMessage[] {
  const messages = withToolCalls(sent);
  if (!messages.some(({ role }) => role === "user")) {
    throw refuse("messages", "needs a message with the role 'user'");
  }
  checkToolCalls(messages);
  // One count for all: the arguments of many calls are as large as one call's can be.
  const size = new JsonSize();
  return messages.map((message, index) => toChatMessage(message, `messages[${index}]`, size));
}

function toChatMessage(message: Message, at: string, size: JsonSize): ChatMessage {
  const { role, content, tool_calls: calls } = message;
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", content: textOf(content, at) };
    case "user":
      return { role, content: textOf(content, at) };
    case "assistant": {
      if (!calls?.length) return { role, content: textOf(content, at) };
      const text = content === null || content === undefined ? "" : textOf(content, at);
      return {
        role,
        content: text,
        toolCalls: calls.map((call, n) => toToolCall(call, `${at}.tool_calls[${n}]`, size)),
      };
    }
    case "function":
    case "tool":
      return { role: "tool", content: textOf(content, at), toolCallId: message.tool_call_id ?? "" };
  }
}

function toToolCall(
  { id, function: { name, arguments: text } }: NonNullable<Message["tool_calls"]>[number],
  at: string,
  size: JsonSize,
): ToolCall {
  return { id, name, arguments: checkedArguments(text, `${at}.function.arguments`, size) };
}

/** The older form of calls and their results, of which there is one at a time, as the form that replaced it. */
function withToolCalls(sent: readonly Message[]): readonly Message[] {
  if (!sent.some(({ role, function_call: call }) => role === "function" || call)) return sent;
  return sent.map(({ function_call: call, ...message }, index): Message => {
    if (message.role === "function") {
      if (!sent[index - 1]?.function_call) {
        throw refuse(
          `messages[${index}].role`,
          "is 'function', and the message before it has no 'function_call'",
        );
      }
      return { ...message, role: "tool", tool_call_id: olderCallId(index - 1) };
    }
    if (!call) return message;
    if (message.tool_calls?.length) {
      throw refuse(`messages[${index}].function_call`, "cannot be used with 'tool_calls'");
    }
    const tool_calls = [{ id: olderCallId(index), type: "function", function: call } as const];
    return { ...message, tool_calls };
  });
}

/** Of a call that has no id: it is known by its place. */
const olderCallId = (index: number): string => `call_${index}`;

/** A call's arguments as JSON that is known not to be too large; `size` counts those of all calls. */
export function checkedArguments(text: string, param: string, size: JsonSize): string {
  const complete = text === "" ? "{}" : text;
  const excess = size.add(Buffer.from(complete));
  if (excess !== undefined) throw refuse(param, excessText[excess.what]);
  checkJson(complete, param);
  return complete;
}

function checkJson(text: string, param: string): void {
  try {
    JSON.parse(text);
  } catch {
    throw refuse(param, "is not JSON");
  }
}

/** Every call has its result right after it, and every result its call, as the OpenAI API demands. */
function checkToolCalls(messages: readonly Message[]): void {
  let open = new Set<string>();
  for (const [index, { role, tool_calls: calls, tool_call_id: id }] of messages.entries()) {
    const at = `messages[${index}]`;
    if (role === "tool") {
      if (id === null || id === undefined) {
        throw refuse(`${at}.tool_call_id`, "is required for a message with the role 'tool'");
      }
      if (!open.delete(id)) {
        throw refuse(
          `${at}.tool_call_id`,
          `${quoted(id)} answers no tool call of the message before it`,
        );
      }
      continue;
    }
    if (open.size > 0) throw unanswered(open, at);
    if (calls?.length && role !== "assistant") {
      throw refuse(`${at}.tool_calls`, "is for messages with the role 'assistant'");
    }
    open = new Set((calls ?? []).map((call) => call.id));
  }
  if (open.size > 0) throw unanswered(open, "messages");
}

/** So many calls are named; the rest is counted. */
const mostNamed = 8;

/** The error for what comes while calls wait for their results. */
export function unanswered(open: ReadonlySet<string>, param: string): NodeError {
  const named = [...open].slice(0, mostNamed).map(shortened).join(", ");
  const rest = open.size > mostNamed ? ` and ${open.size - mostNamed} more` : "";
  return refuse(param, `comes before the tool calls ${named}${rest} were answered`);
}

const partTypes: PartTypes = {
  readable: new Set(["text"]),
  names: new Map([
    ["image_url", "images"],
    ["input_audio", "audio"],
    ["file", "files"],
  ]),
};

function textOf(content: Content | null | undefined, at: string): string {
  if (content === null || content === undefined) {
    throw new NodeError(
      "invalid_request",
      `'${at}.content' is required: a string or a list of text parts.`,
      { param: `${at}.content` },
    );
  }
  return textOfParts(content, `${at}.content`, partTypes);
}
