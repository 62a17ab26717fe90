/** Batches of files on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Attributes } from "../../wire/attributes.ts";
import { ChunkingStrategy } from "../../wire/chunking.ts";
import { open } from "../../wire/fields.ts";
import { FileStatus, VectorStoreFileRequest } from "../vector-store-files/schema.ts";
import { FileCounts, mostFilesAtOnce } from "../vector-stores/schema.ts";

export const FileBatch = T.Object({
  id: T.String(),
  object: T.Literal("vector_store.files_batch"),
  created_at: T.Integer({ description: "Unix time in seconds." }),
  vector_store_id: T.String(),
  status: FileStatus,
  file_counts: FileCounts,
});

export type FileBatch = Static<typeof FileBatch>;

export const FileBatchRequest = T.Object(
  {
    file_ids: T.Optional(
      T.Union([T.Array(T.String(), { minItems: 1, maxItems: mostFilesAtOnce }), T.Null()], {
        description: "Uploaded files; what is said of attributes and cutting holds for all.",
      }),
    ),
    files: T.Optional(
      T.Union(
        [T.Array(VectorStoreFileRequest, { minItems: 1, maxItems: mostFilesAtOnce }), T.Null()],
        {
          description:
            "Uploaded files, each with its own attributes and cutting; instead of `file_ids`.",
        },
      ),
    ),
    attributes: T.Optional(T.Union([Attributes, T.Null()])),
    chunking_strategy: T.Optional(T.Union([ChunkingStrategy, T.Null()])),
  },
  open,
);

export type FileBatchRequest = Static<typeof FileBatchRequest>;
