/** Schemas of conversations. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Metadata } from "../../wire/attributes.ts";
import { nullable, openObject, UnixTime, unexamined } from "../../wire/fields.ts";
import { pageQuery } from "../../wire/page-schema.ts";
import { InputItem } from "../responses/request-schema.ts";

/** Stored as they are. */
const Items = unexamined(
  T.Array(InputItem, { maxItems: 20, description: "Items, as in `input`." }),
);

export const ConversationRequest = openObject({
  items: nullable(Items, "The first items."),
  metadata: nullable(Metadata, "Returned as it is."),
});

export type ConversationRequest = Static<typeof ConversationRequest>;

export const ConversationChange = openObject({ metadata: Metadata });

export const ItemsRequest = openObject({ items: Items });

export const ConversationObject = T.Object({
  id: T.String({ pattern: "^conv_[0-9a-f]{32}$" }),
  object: T.Literal("conversation"),
  created_at: UnixTime,
  metadata: Metadata,
});

export type ConversationObject = Static<typeof ConversationObject>;

export const ItemQuery = pageQuery({});
