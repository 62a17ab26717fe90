/** A conversation in node-llama-cpp's terms, where a model's turn holds its tool calls with their results. */
import type { ChatHistoryItem, ChatModelResponse } from "node-llama-cpp";
import type { ChatMessage, ToolCall } from "../../core/ports/chat-engine.ts";

/** The history, ending in the turn that the model is to write or to go on with. */
export function toChatHistory(messages: readonly ChatMessage[]): ChatHistoryItem[] {
  const history: ChatHistoryItem[] = [];
  for (const [index, message] of messages.entries()) {
    switch (message.role) {
      case "system":
        history.push({ type: "system", text: message.content });
        break;
      case "user":
        history.push({ type: "user", text: message.content });
        break;
      case "assistant":
        turnAt(history, messages[index - 1]).response.push(
          ...(message.content === "" ? [] : [message.content]),
          ...(message.toolCalls ?? []).map((call, at) =>
            toFunctionCall(call, resultsAfter(messages, index), at === 0),
          ),
        );
        break;
      case "tool": // its result is part of the call above
        break;
    }
  }
  if (messages.at(-1)?.role !== "tool") history.push({ type: "model", response: [] });
  return history;
}

/** What the tool messages right after a message say, by the id of the call. */
function resultsAfter(messages: readonly ChatMessage[], index: number): Map<string, string> {
  const results = new Map<string, string>();
  for (const message of messages.slice(index + 1)) {
    if (message.role !== "tool") break;
    results.set(message.toolCallId, message.content);
  }
  return results;
}

/** The model's turn: the one before a tool's result goes on after it, else a new one. */
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

/** The value, where the text is JSON; else the text. */
function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
