/** /v1/conversations and /v1/conversations/{conversation_id}/items */
import { type Static, Type as T } from "@sinclair/typebox";
import { NodeError } from "../../core/errors.ts";
import { quoted } from "../../core/quoted.ts";
import type {
  Conversation,
  ConversationItem,
  ConversationService,
} from "../../core/responses/conversation-service.ts";
import { documentErrors } from "../openapi.ts";
import { defineOperation, described, namedSchema } from "../operation.ts";
import { checkedPairs, Metadata } from "../wire/attributes.ts";
import { nullable, openObject, refuse, UnixTime, unexamined } from "../wire/fields.ts";
import { anyImages, type ImageReader } from "../wire/images.ts";
import {
  deletedAnswer,
  pageAnswer,
  pageOfItems,
  pageQuery,
  toPage,
  toPageRequest,
} from "../wire/page-schema.ts";
import { toMessagesSoFar } from "./responses/conversation.ts";
import { newResponseId, toListedItems } from "./responses/items.ts";
import { InputItem } from "./responses/request-schema.ts";
import { ListedItem } from "./responses/schema.ts";

/** Stored as they are. */
const Items = unexamined(
  T.Array(InputItem, { maxItems: 20, description: "Items, as in `input`." }),
);

const ConversationRequest = openObject({
  items: nullable(Items, "The first items."),
  metadata: nullable(Metadata, "Returned as it is."),
});

const ConversationChange = openObject({ metadata: Metadata });

const ItemsRequest = openObject({ items: Items });

export const ConversationObject = T.Object({
  id: T.String({ pattern: "^conv_[0-9a-f]{32}$" }),
  object: T.Literal("conversation"),
  created_at: UnixTime,
  metadata: Metadata,
});

export type ConversationObject = Static<typeof ConversationObject>;

interface Needs {
  conversations: ConversationService;
  limits: { maxMessages: number; maxImageBytes: number };
}

const conversationExample: ConversationObject = {
  id: "conv_2f9d7c1e5a314f0b9c573d6a1f0e8b42",
  object: "conversation",
  created_at: 1794700800,
  metadata: { topic: "llamas" },
};
const itemExample = {
  ...{ id: "msg_2f9d7c1e5a314f0b9c573d6a1f0e8b42_in0", type: "message", role: "user" },
  content: [{ type: "input_text", text: "Do llamas hum?" }],
};
const sentItem = { role: "user" as const, content: "Do llamas hum?" };

const about = {
  name: "conversations",
  tag: "Responses",
  scope: "chat",
  takesPlace: false,
  parameters: { conversation_id: "The conversation's id." },
  errors: documentErrors,
} as const;
const ofItem = { ...about, parameters: { ...about.parameters, item_id: "The item's id." } };

const conversationAnswer = described(
  { Conversation: ConversationObject },
  "The conversation.",
  conversationExample,
);
const listAnswer = pageAnswer("ConversationItemList", ListedItem, "items", itemExample);

export const conversationOperations = [
  defineOperation({
    ...about,
    route: "POST /v1/conversations",
    operationId: "createConversation",
    summary: "Create a conversation that responses continue",
    description:
      "Stored for the key that made it, for `responses.keep_for` seconds after its last change, within the limits of stored responses.",
    parameters: {},
    body: {
      ...namedSchema({ ConversationRequest }),
      example: { items: [sentItem], metadata: { topic: "llamas" } },
      logged: ({ items }) => ({ items }),
    },
    answer: conversationAnswer,
    handler: async ({ body }, context, { conversations, limits }: Needs) => {
      const metadata = checkedPairs(body.metadata ?? {}, "metadata");
      const items = checkedItems(body.items ?? [], anyImages(context, limits));
      const created = await conversations.create(context.authenticated, { metadata, items });
      return { json: toConversation(created) };
    },
  }),
  defineOperation({
    ...about,
    route: "GET /v1/conversations/:conversation_id",
    operationId: "getConversation",
    summary: "Read a conversation",
    answer: conversationAnswer,
    handler: async ({ parameters }, { authenticated }, { conversations }: Needs) => ({
      json: toConversation(await conversations.get(parameters.conversation_id, authenticated)),
    }),
  }),
  defineOperation({
    ...about,
    route: "POST /v1/conversations/:conversation_id",
    operationId: "updateConversation",
    summary: "Change a conversation's metadata",
    body: {
      ...namedSchema({ ConversationChange }),
      example: { metadata: { topic: "alpacas" } },
      logged: () => ({}),
    },
    answer: conversationAnswer,
    handler: async ({ body, parameters }, { authenticated }, { conversations }: Needs) => {
      const change = { metadata: checkedPairs(body.metadata, "metadata") };
      const { conversation_id: id } = parameters;
      return { json: toConversation(await conversations.change(id, authenticated, () => change)) };
    },
  }),
  defineOperation({
    ...about,
    route: "DELETE /v1/conversations/:conversation_id",
    operationId: "deleteConversation",
    summary: "Delete a conversation with its items",
    description: "Its responses have their own copy, and stay.",
    answer: deletedAnswer("ConversationDeleted", "conversation.deleted", conversationExample.id),
    handler: async ({ parameters }, { authenticated }, { conversations }: Needs) => {
      const { conversation_id: id } = parameters;
      await conversations.delete(id, authenticated);
      return { json: { id, object: "conversation.deleted", deleted: true } };
    },
  }),
  defineOperation({
    ...about,
    route: "POST /v1/conversations/:conversation_id/items",
    operationId: "addConversationItems",
    summary: "Add items to a conversation",
    body: {
      ...namedSchema({ ConversationItems: ItemsRequest }),
      example: { items: [sentItem] },
      logged: ({ items }) => ({ items }),
    },
    answer: { ...listAnswer, description: "The items that were added." },
    handler: async ({ body, parameters }, context, { conversations, limits }: Needs) => {
      const { authenticated } = context;
      const added = checkedItems(body.items, anyImages(context, limits));
      await conversations.change(parameters.conversation_id, authenticated, ({ items: before }) => {
        const items = [...before, ...added];
        if (items.length <= limits.maxMessages) return { items };
        throw refuse(
          "items",
          `makes a conversation of ${items.length} items; this node takes at most ${limits.maxMessages} (limits.max_messages)`,
        );
      });
      return { json: toPage({ items: added, hasMore: false }, (item) => item) };
    },
  }),
  defineOperation({
    ...about,
    route: "GET /v1/conversations/:conversation_id/items",
    operationId: "listConversationItems",
    summary: "List the items of a conversation",
    query: pageQuery({}),
    answer: listAnswer,
    handler: async ({ parameters, query }, { authenticated }, { conversations }: Needs) => {
      const { items } = await conversations.get(parameters.conversation_id, authenticated);
      const page = pageOfItems(items, toPageRequest(query));
      return { json: toPage(page, (item) => item) };
    },
  }),
  defineOperation({
    ...ofItem,
    route: "GET /v1/conversations/:conversation_id/items/:item_id",
    operationId: "getConversationItem",
    summary: "Read an item of a conversation",
    answer: described({ ConversationItem: ListedItem }, "The item.", itemExample),
    handler: async ({ parameters }, { authenticated }, { conversations }: Needs) => {
      const { conversation_id: id, item_id: itemId } = parameters;
      const { items } = await conversations.get(id, authenticated);
      const item = items.find((one) => one.id === itemId);
      if (item === undefined) throw noSuchItem(itemId);
      return { json: item };
    },
  }),
  defineOperation({
    ...ofItem,
    route: "DELETE /v1/conversations/:conversation_id/items/:item_id",
    operationId: "deleteConversationItem",
    summary: "Delete an item of a conversation",
    answer: conversationAnswer,
    handler: async ({ parameters }, { authenticated }, { conversations }: Needs) => {
      const { conversation_id: id, item_id: itemId } = parameters;
      const changed = await conversations.change(id, authenticated, ({ items }) => {
        if (!items.some((item) => item.id === itemId)) throw noSuchItem(itemId);
        return { items: items.filter((item) => item.id !== itemId) };
      });
      return { json: toConversation(changed) };
    },
  }),
] as const;

const toConversation = ({ id, createdAt, metadata }: Conversation): ConversationObject => ({
  id,
  object: "conversation",
  created_at: Math.floor(createdAt / 1000),
  metadata: { ...metadata },
});

/** Completes the items with ids, and checks that a response can continue from them. */
function checkedItems(items: readonly InputItem[], readImage: ImageReader): ConversationItem[] {
  toMessagesSoFar(items, "items", readImage);
  return toListedItems([...items], newResponseId());
}

const noSuchItem = (id: string): NodeError =>
  new NodeError("no_such_object", `Item with id ${quoted(id)} not found in this conversation.`, {
    param: "item_id",
  });
