/** Schemas of conversations. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Metadata } from "../../wire/attributes.ts";
import { nullable, openObject, unexamined } from "../../wire/fields.ts";
import { pageQuery, pageSchema } from "../../wire/page-schema.ts";
import { InputItem } from "../responses/request-schema.ts";

export const itemLimits = { most: 100, usual: 20 };

/** Stored as they are. */
const Items = unexamined(
  T.Array(InputItem, { maxItems: 20, description: "Items, as `input` has them." }),
);

export const ConversationRequest = openObject({
  items: nullable(Items, "What it begins with."),
  metadata: nullable(Metadata, "Given back as it is."),
});

export type ConversationRequest = Static<typeof ConversationRequest>;

export const ConversationChange = openObject({ metadata: Metadata });

export const ItemsRequest = openObject({ items: Items });

export const ConversationObject = T.Object({
  id: T.String({ pattern: "^conv_[0-9a-f]{32}$" }),
  object: T.Literal("conversation"),
  created_at: T.Integer({ description: "Unix time in seconds." }),
  metadata: Metadata,
});

export type ConversationObject = Static<typeof ConversationObject>;

export const ListedItem = openObject(
  { id: T.String(), type: T.Optional(T.String()) },
  { description: "A message, a call, what a function returned, thoughts or a search." },
);

export const ConversationItemList = pageSchema(ListedItem);

export const ItemQuery = pageQuery(itemLimits, {});
