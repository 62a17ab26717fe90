/** A conversation as the library's templates take it, with each tool's result in its call. */
import type { ChatHistoryItem, ChatModelResponse } from "node-llama-cpp";
import { JsonSize } from "../../core/json-size.ts";
import type { ChatMessage, ToolCall } from "../../core/ports/chat-engine.ts";

/** All that is written into the prompt. */
export function* textsOf(messages: readonly ChatMessage[]): Generator<string> {
  for (const message of messages) {
    yield message.content;
    if (message.role !== "assistant") continue;
    for (const call of message.toolCalls ?? []) yield call.arguments;
  }
}

/** The history, which ends in the turn that the model writes or continues. */
export function toChatHistory(messages: readonly ChatMessage[]): ChatHistoryItem[] {
  const history: ChatHistoryItem[] = [];
  for (const [index, message] of messages.entries()) {
    const { role, content } = message;
    if (role === "system" || role === "user") history.push({ type: role, text: content });
    // A tool's result is part of the call above.
    if (role !== "assistant") continue;
    const results = resultsAfter(messages, index);
    turnAt(history, messages[index - 1]).response.push(
      ...(content === "" ? [] : [content]),
      ...(message.toolCalls ?? []).map((call, at) => toFunctionCall(call, results, at === 0)),
    );
  }
  if (messages.at(-1)?.role !== "tool") history.push({ type: "model", response: [] });
  return history;
}

function resultsAfter(messages: readonly ChatMessage[], index: number): Map<string, string> {
  const results = new Map<string, string>();
  for (const message of messages.slice(index + 1)) {
    if (message.role !== "tool") break;
    results.set(message.toolCallId, message.content);
  }
  return results;
}

/** The model's turn: after a tool's result, the one before it continues; otherwise a new one. */
function turnAt(history: ChatHistoryItem[], before: ChatMessage | undefined): ChatModelResponse {
  const last = history.at(-1);
  if (before?.role === "tool" && last?.type === "model") return last;
  const turn: ChatModelResponse = { type: "model", response: [] };
  history.push(turn);
  return turn;
}

function toFunctionCall(
  { id, name, arguments: text }: ToolCall,
  results: ReadonlyMap<string, string>,
  startsNewChunk: boolean,
): ChatModelResponse["response"][number] {
  return {
    type: "functionCall",
    name,
    params: fromJson(text),
    result: fromJson(results.get(id) ?? ""),
    startsNewChunk,
  };
}

/** Of the characters of a text: more indentation than this is more than any tool writes. */
const mostIndentation = { each: 8, always: 1024 };

/** What is nested deep stays text: templates write the value again, recursively, and node-llama-cpp indents every line of it before it takes that away. */
function fromJson(text: string): unknown {
  if (new JsonSize().add(Buffer.from(text)) !== undefined) return text;
  try {
    const value: unknown = JSON.parse(text);
    const most = text.length * mostIndentation.each + mostIndentation.always;
    return indentationOf(value) > most ? text : value;
  } catch {
    return text;
  }
}

function indentationOf(value: unknown, depth = 1): number {
  if (typeof value !== "object" || value === null) return 0;
  let sum = 0;
  for (const item of Object.values(value)) sum += depth + indentationOf(item, depth + 1);
  return sum;
}
