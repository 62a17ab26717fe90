/** Vector stores on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Metadata } from "../../wire/attributes.ts";
import { ChunkingStrategy } from "../../wire/chunking.ts";
import { open } from "../../wire/fields.ts";
import { deletedSchema, pageQuery, pageSchema } from "../../wire/page-schema.ts";

const ExpiresAfter = T.Object(
  { anchor: T.Literal("last_active_at"), days: T.Integer({ minimum: 1, maximum: 365 }) },
  {
    ...open,
    description:
      "After how many days without a use it expires: its files leave it, and it is not searched any more.",
  },
);

const expiry = "{ anchor: 'last_active_at', days: 1 to 365 }, or null";

export const FileCounts = T.Object({
  in_progress: T.Integer(),
  completed: T.Integer(),
  failed: T.Integer(),
  cancelled: T.Integer(),
  total: T.Integer(),
});

export const VectorStore = T.Object({
  id: T.String(),
  object: T.Literal("vector_store"),
  created_at: T.Integer({ description: "Unix time in seconds." }),
  name: T.String(),
  description: T.Union([T.String(), T.Null()]),
  usage_bytes: T.Integer({ description: "Bytes of its files' passages, with their vectors." }),
  file_counts: FileCounts,
  status: T.Union([T.Literal("expired"), T.Literal("in_progress"), T.Literal("completed")]),
  expires_after: T.Union([ExpiresAfter, T.Null()]),
  expires_at: T.Union([T.Integer(), T.Null()]),
  last_active_at: T.Integer({ description: "To the minute." }),
  metadata: Metadata,
  collection: T.String({ description: "The name of its collection, as commands know it." }),
});

export type VectorStore = Static<typeof VectorStore>;

export const mostFilesAtOnce = 2000;

const name = T.Union([T.String({ maxLength: 256 }), T.Null()], { description: "For people." });

export const VectorStoreRequest = T.Object(
  {
    name: T.Optional(name),
    description: T.Optional(T.Union([T.String({ maxLength: 2048 }), T.Null()])),
    file_ids: T.Optional(
      T.Union([T.Array(T.String(), { maxItems: mostFilesAtOnce }), T.Null()], {
        description: "Uploaded files to begin with.",
      }),
    ),
    chunking_strategy: T.Optional(T.Union([ChunkingStrategy, T.Null()])),
    expires_after: T.Optional(T.Union([ExpiresAfter, T.Null()], { "x-expected": expiry })),
    metadata: T.Optional(T.Union([Metadata, T.Null()])),
  },
  open,
);

export type VectorStoreRequest = Static<typeof VectorStoreRequest>;

export const VectorStoreUpdate = T.Object(
  {
    name: T.Optional(name),
    expires_after: T.Optional(
      T.Union([ExpiresAfter, T.Null()], {
        "x-expected": expiry,
        description: "null: it does not expire.",
      }),
    ),
    metadata: T.Optional(T.Union([Metadata, T.Null()], { description: "In the place of all." })),
  },
  open,
);

export type VectorStoreUpdate = Static<typeof VectorStoreUpdate>;

export const storeLimits = { most: 100, usual: 20 };
export const VectorStoreQuery = pageQuery(storeLimits, {});
export const VectorStoreList = pageSchema(VectorStore);
export const VectorStoreDeleted = deletedSchema("vector_store.deleted");
