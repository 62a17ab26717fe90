/** Schemas of conversations. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Metadata } from "../../wire/attributes.ts";
import { nullable, open, unexamined } from "../../wire/fields.ts";
import { pageQuery, pageSchema } from "../../wire/page-schema.ts";
import { InputItem } from "../responses/request-schema.ts";

export const itemLimits = { most: 100, usual: 20 };

/** Stored as they are. */
const Items = unexamined(
  T.Array(InputItem, { maxItems: 20, description: "Items, as `input` has them." }),
);

export const ConversationRequest = T.Object(
  {
    items: nullable(Items, "What it begins with."),
    metadata: nullable(Metadata, "Given back as it is."),
  },
  open,
);

export type ConversationRequest = Static<typeof ConversationRequest>;

export const ConversationChange = T.Object({ metadata: Metadata }, open);

export const ItemsRequest = T.Object({ items: Items }, open);

export const ConversationObject = T.Object({
  id: T.String({ pattern: "^conv_[0-9a-f]{32}$" }),
  object: T.Literal("conversation"),
  created_at: T.Integer({ description: "Unix time in seconds." }),
  metadata: Metadata,
});

export type ConversationObject = Static<typeof ConversationObject>;

export const ListedItem = T.Object(
  { id: T.String(), type: T.Optional(T.String()) },
  { ...open, description: "A message, a call, what a function returned, thoughts or a search." },
);

export const ConversationItemList = pageSchema(ListedItem);

export const ItemQuery = pageQuery(itemLimits, {});
