/** The conversation that a response is asked with: that of the response before it, and then its input. */
import { NodeError, reasonOf } from "../../../core/errors.ts";
import type { ChatMessage, ToolCall } from "../../../core/ports/chat-engine.ts";
import { isFinished } from "../../../core/ports/response-store.ts";
import { quoted } from "../../../core/quoted.ts";
import { refuse } from "../../wire/refuse.ts";
import { type ListedItem, toListedItems } from "./input-items.ts";
import { toMessages, toMessagesSoFar } from "./input-messages.ts";
import { modelName } from "./namespaces.ts";
import type { OutputItem } from "./output-schema.ts";
import {
  type FindResponse,
  itemCheck,
  type ReferenceOptions,
  withoutReferences,
} from "./references.ts";
import type { ResponseRequest } from "./request-schema.ts";

export interface AskedConversation {
  /** Without what the model is told before it: that is not carried over. */
  messages: readonly ChatMessage[];
  /** The input, as it is listed. */
  items: readonly ListedItem[];
}

type Asked = Pick<ResponseRequest, "input" | "previous_response_id" | "conversation">;

export interface AskedOptions extends ReferenceOptions {
  id: string;
  maxMessages: number;
  /** The items of a conversation that is kept; throws where there is none for the caller. */
  itemsOf: (conversation: string) => Promise<readonly object[]>;
}

/** The conversation that a request names. */
export function conversationOf({
  conversation,
}: Pick<ResponseRequest, "conversation">): string | undefined {
  return typeof conversation === "object" ? conversation?.id : conversation;
}

export async function askedConversation(
  body: Asked,
  { id, maxMessages, itemsOf, ...references }: AskedOptions,
): Promise<AskedConversation> {
  const { input: sent } = body;
  if (sent === undefined) throw refuse("input", "is required: a text or a list of items");
  const before = await saidBefore(body, { find: references.find, itemsOf });
  const input = typeof sent === "string" ? sent : await withoutReferences(sent, references);
  const messages = [...before, ...toMessages(input, before)];
  if (messages.length > maxMessages) {
    throw refuse(
      conversationOf(body) === undefined ? "previous_response_id" : "conversation",
      `makes a conversation of ${messages.length} messages; this node takes at most ${maxMessages} (limits.max_messages)`,
    );
  }
  return { messages, items: toListedItems(input, id) };
}

async function saidBefore(
  body: Asked,
  { find, itemsOf }: Pick<AskedOptions, "find" | "itemsOf">,
): Promise<readonly ChatMessage[]> {
  const previous = body.previous_response_id ?? undefined;
  const conversation = conversationOf(body);
  if (conversation === undefined) return previous === undefined ? [] : await said(previous, find);
  if (previous !== undefined) {
    throw refuse("conversation", "cannot be used with 'previous_response_id'");
  }
  const items = (await itemsOf(conversation)).filter((item) => itemCheck.Check(item));
  try {
    return toMessagesSoFar(items, "items");
  } catch (error) {
    // Items may have been deleted that others belong to.
    throw refuse("conversation", `has items that do not fit together: ${reasonOf(error)}`);
  }
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
