/** Conversations between the wire and the domain. */

import { NodeError } from "../../../core/errors.ts";
import { quoted } from "../../../core/quoted.ts";
import type {
  Conversation,
  ConversationItem,
} from "../../../core/responses/conversation-service.ts";
import { refuse } from "../../wire/refuse.ts";
import { newResponseId } from "../responses/ids.ts";
import { toListedItems } from "../responses/input-items.ts";
import { toMessagesSoFar } from "../responses/input-messages.ts";
import type { InputItem } from "../responses/request-schema.ts";
import type { ConversationObject } from "./schema.ts";

export const toConversation = ({ id, createdAt, metadata }: Conversation): ConversationObject => ({
  id,
  object: "conversation",
  created_at: Math.floor(createdAt / 1000),
  metadata: { ...metadata },
});

/** Complete items with ids of their own, in an order that a response can go on from. */
export function checkedItems(items: readonly InputItem[]): ConversationItem[] {
  toMessagesSoFar(items, "items");
  return toListedItems([...items], newResponseId());
}

/** With more items, if there is room for them. */
export function withItems(
  before: readonly ConversationItem[],
  more: readonly ConversationItem[],
  most: number,
): ConversationItem[] {
  if (before.length + more.length <= most) return [...before, ...more];
  throw refuse(
    "items",
    `makes a conversation of ${before.length + more.length} items; this node takes at most ${most} (limits.max_messages)`,
  );
}

export const noSuchItem = (id: string): NodeError =>
  new NodeError("no_such_object", `Item with id ${quoted(id)} not found in this conversation.`, {
    param: "item_id",
  });
