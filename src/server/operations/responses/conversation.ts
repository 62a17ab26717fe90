/** The conversation that a response is asked with: that of the response before it, and then its input. */
import { NodeError } from "../../../core/errors.ts";
import type { ChatMessage, ToolCall } from "../../../core/ports/chat-engine.ts";
import { isFinished } from "../../../core/ports/response-store.ts";
import { quoted } from "../../../core/quoted.ts";
import { refuse } from "../../wire/refuse.ts";
import { type ListedItem, toListedItems } from "./input-items.ts";
import { toMessages } from "./input-messages.ts";
import { modelName } from "./namespaces.ts";
import type { OutputItem } from "./output-schema.ts";
import { type FindResponse, type ReferenceOptions, withoutReferences } from "./references.ts";
import type { ResponseRequest } from "./request-schema.ts";

export interface AskedConversation {
  /** Without what the model is told before it: that is not carried over. */
  messages: readonly ChatMessage[];
  /** The input, as it is listed. */
  items: readonly ListedItem[];
}

type Asked = Pick<ResponseRequest, "input" | "previous_response_id">;

export async function askedConversation(
  { input: sent, previous_response_id: previous }: Asked,
  { id, maxMessages, ...references }: { id: string; maxMessages: number } & ReferenceOptions,
): Promise<AskedConversation> {
  if (sent === undefined) throw refuse("input", "is required: a text or a list of items");
  const { find } = references;
  const before = previous === null || previous === undefined ? [] : await said(previous, find);
  const input = typeof sent === "string" ? sent : await withoutReferences(sent, references);
  const messages = [...before, ...toMessages(input, before)];
  if (messages.length > maxMessages) {
    throw refuse(
      "previous_response_id",
      `makes a conversation of ${messages.length} messages; this node takes at most ${maxMessages} (limits.max_messages)`,
    );
  }
  return { messages, items: toListedItems(input, id) };
}

async function said(id: string, find: FindResponse): Promise<readonly ChatMessage[]> {
  const param = "previous_response_id";
  const response = await find(id);
  if (response === undefined) {
    throw new NodeError(
      "no_such_object",
      `Previous response with id ${quoted(id)} not found: it was not kept, was deleted, its time is over, or it is another key's.`,
      { param },
    );
  }
  const { status, conversation } = response;
  if (!isFinished(status))
    throw refuse(param, `${quoted(id)} is still being made; ask again later`);
  if (status === "failed" || status === "cancelled") {
    throw refuse(param, `${quoted(id)} has no answer to go on from: it is ${status}`);
  }
  return conversation;
}

/** With what came of it; a call that was cut short is none. */
export function withAnswer(
  messages: readonly ChatMessage[],
  output: readonly OutputItem[],
): ChatMessage[] {
  const content = output
    .flatMap((item) => (item.type === "message" ? item.content.map(({ text }) => text) : []))
    .join("");
  const toolCalls = output.flatMap((item): ToolCall[] => {
    if (item.type !== "function_call" || item.status !== "completed") return [];
    return [{ id: item.call_id, name: modelName(item), arguments: item.arguments || "{}" }];
  });
  const calls = toolCalls.length === 0 ? {} : { toolCalls };
  return [...messages, { role: "assistant", content, ...calls }];
}
