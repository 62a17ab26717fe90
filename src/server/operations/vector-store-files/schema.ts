/** Files of vector stores on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";
import { fileStatuses } from "../../../core/documents/records.ts";
import { Attributes } from "../../wire/attributes.ts";
import { ChunkingStrategy, ChunkingUsed } from "../../wire/chunking.ts";
import { open } from "../../wire/fields.ts";
import { deletedSchema, pageQuery, pageSchema } from "../../wire/page-schema.ts";

const [inProgress, completed, failed, cancelled] = fileStatuses;
export const FileStatus = T.Union([
  T.Literal(inProgress),
  T.Literal(completed),
  T.Literal(failed),
  T.Literal(cancelled),
]);

export const VectorStoreFile = T.Object({
  id: T.String({ description: "The file's id." }),
  object: T.Literal("vector_store.file"),
  created_at: T.Integer({ description: "When it was added, as Unix time in seconds." }),
  vector_store_id: T.String(),
  filename: T.String(),
  status: FileStatus,
  last_error: T.Union(
    [
      T.Object({
        code: T.Union([
          T.Literal("server_error"),
          T.Literal("unsupported_file"),
          T.Literal("invalid_file"),
        ]),
        message: T.String(),
      }),
      T.Null(),
    ],
    { description: "Why it failed; or, while it is in progress, what it waits for." },
  ),
  usage_bytes: T.Integer({ description: "Bytes of its passages, with their vectors." }),
  bytes: T.Optional(
    T.Integer({ description: "Bytes of the uploaded file; absent where it was not uploaded." }),
  ),
  passages: T.Integer({ description: "How many passages were made of it." }),
  attributes: Attributes,
  chunking_strategy: ChunkingUsed,
});

export type VectorStoreFile = Static<typeof VectorStoreFile>;

export const VectorStoreFileRequest = T.Object(
  {
    file_id: T.String({ minLength: 1, description: "An uploaded file." }),
    attributes: T.Optional(T.Union([Attributes, T.Null()])),
    chunking_strategy: T.Optional(T.Union([ChunkingStrategy, T.Null()])),
  },
  open,
);

export type VectorStoreFileRequest = Static<typeof VectorStoreFileRequest>;

export const VectorStoreFileUpdate = T.Object(
  { attributes: T.Union([Attributes, T.Null()], { description: "In the place of all." }) },
  open,
);

export const storeFileLimits = { most: 100, usual: 20 };

export const VectorStoreFileQuery = pageQuery(storeFileLimits, {
  filter: T.Optional(
    T.Unsafe<Static<typeof FileStatus>>({
      ...FileStatus,
      description: "Only files with this status.",
    }),
  ),
});

export const VectorStoreFileList = pageSchema(VectorStoreFile);
export const VectorStoreFileDeleted = deletedSchema("vector_store.file.deleted");

export const contentLimits = { most: 10_000, usual: 10_000 };

export const ContentQuery = T.Object({
  limit: T.Optional(
    T.Integer({ minimum: 1, maximum: contentLimits.most, default: contentLimits.usual }),
  ),
  page: T.Optional(T.Integer({ minimum: 0, description: "The `next_page` of the page before." })),
});

export const VectorStoreFileContent = T.Object({
  object: T.Literal("vector_store.file_content.page"),
  data: T.Array(T.Object({ type: T.Literal("text"), text: T.String() }), {
    description: "The file's passages, in their order.",
  }),
  has_more: T.Boolean(),
  next_page: T.Union([T.String(), T.Null()]),
});
