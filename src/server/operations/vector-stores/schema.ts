/** Schemas of vector stores, their files, batches and searches. */
import { type Static, Type as T } from "@sinclair/typebox";
import { chunkBounds, fileStatuses } from "../../../core/documents/records.ts";
import { Attributes, Filter, Metadata } from "../../wire/attributes.ts";
import {
  count,
  ignored,
  nullable,
  oneOf,
  openObject,
  optional,
  orNull,
  rejectedAs,
} from "../../wire/fields.ts";
import { pageQuery, pageSchema } from "../../wire/page-schema.ts";

const ChunkingStrategy = T.Union(
  [
    openObject({ type: T.Literal("auto") }),
    openObject({
      type: T.Literal("static"),
      static: openObject(
        {
          max_chunk_size_tokens: T.Integer({
            minimum: chunkBounds.least,
            maximum: chunkBounds.most,
            description: "Most tokens of a passage, and no more than the embedding model takes.",
          }),
          chunk_overlap_tokens: count("Tokens that two passages share; at most half of a passage."),
        },
        { description: "How long passages are." },
      ),
    }),
  ],
  {
    "x-expected": '{ "type": "auto" }, or { "type": "static", "static": { … } }',
    description:
      "How files are cut. `auto`: as the node does, into passages of at most 256 tokens along headings and sentences.",
  },
);

const ChunkingUsed = T.Union([
  T.Object({
    type: T.Literal("static"),
    static: T.Object({
      max_chunk_size_tokens: T.Integer(),
      chunk_overlap_tokens: T.Integer(),
    }),
  }),
  T.Object({ type: T.Literal("other") }),
]);

const ExpiresAfter = openObject(
  {
    anchor: T.Literal("last_active_at"),
    days: T.Integer({ minimum: 1, maximum: 365, description: "Days without a use." }),
  },
  {
    description:
      "After how many days without a use it expires: its files leave it, and it is not searched any more.",
  },
);

const expiry = "{ anchor: 'last_active_at', days: 1 to 365 }, or null";

const FileCounts = T.Object({
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
  description: orNull(T.String()),
  usage_bytes: T.Integer({ description: "Bytes of its files' passages, with their vectors." }),
  file_counts: FileCounts,
  status: oneOf(["expired", "in_progress", "completed"]),
  expires_after: orNull(ExpiresAfter),
  expires_at: orNull(T.Integer()),
  last_active_at: T.Integer({ description: "To the minute." }),
  metadata: Metadata,
  collection: T.String({ description: "The name of its collection, as commands know it." }),
});

export type VectorStore = Static<typeof VectorStore>;

const mostFilesAtOnce = 2000;

const name = orNull(T.String({ maxLength: 256 }), { description: "For people." });

export const VectorStoreRequest = openObject({
  name: T.Optional(name),
  description: nullable(T.String({ maxLength: 2048 }), "What it holds, for people."),
  file_ids: nullable(
    T.Array(T.String(), { maxItems: mostFilesAtOnce }),
    "Uploaded files to begin with.",
  ),
  chunking_strategy: nullable(ChunkingStrategy),
  expires_after: T.Optional(orNull(ExpiresAfter, { "x-expected": expiry })),
  metadata: nullable(Metadata),
});

export type VectorStoreRequest = Static<typeof VectorStoreRequest>;

export const VectorStoreUpdate = openObject({
  name: T.Optional(name),
  expires_after: T.Optional(
    orNull(ExpiresAfter, {
      "x-expected": expiry,
      description: "null: it does not expire.",
    }),
  ),
  metadata: nullable(Metadata, "In the place of all."),
  file_ids: ignored("Files are added under `/files`."),
});

export type VectorStoreUpdate = Static<typeof VectorStoreUpdate>;

export const storeLimits = { most: 100, usual: 20 };
export const VectorStoreQuery = pageQuery(storeLimits, {});
export const VectorStoreList = pageSchema(VectorStore);
const FileStatus = oneOf(fileStatuses);

export const VectorStoreFile = T.Object({
  id: T.String({ description: "The file's id." }),
  object: T.Literal("vector_store.file"),
  created_at: T.Integer({ description: "When it was added, as Unix time in seconds." }),
  vector_store_id: T.String(),
  filename: T.String(),
  status: FileStatus,
  last_error: orNull(
    T.Object({
      code: oneOf(["server_error", "unsupported_file", "invalid_file"]),
      message: T.String(),
    }),
    { description: "Why it failed; or, while it is in progress, what it waits for." },
  ),
  usage_bytes: T.Integer({ description: "Bytes of its passages, with their vectors." }),
  bytes: optional(T.Integer(), "Bytes of the uploaded file; absent where it was not uploaded."),
  passages: T.Integer({ description: "How many passages were made of it." }),
  attributes: Attributes,
  chunking_strategy: ChunkingUsed,
});

export type VectorStoreFile = Static<typeof VectorStoreFile>;

export const VectorStoreFileRequest = openObject({
  file_id: T.String({ minLength: 1, description: "An uploaded file." }),
  attributes: nullable(Attributes),
  chunking_strategy: nullable(ChunkingStrategy),
});

export type VectorStoreFileRequest = Static<typeof VectorStoreFileRequest>;

export const VectorStoreFileUpdate = openObject({
  attributes: orNull(Attributes, { description: "In the place of all." }),
});

export const storeFileLimits = { most: 100, usual: 20 };

export const VectorStoreFileQuery = pageQuery(storeFileLimits, {
  filter: optional(oneOf(fileStatuses), "Only files with this status."),
});

export const VectorStoreFileList = pageSchema(VectorStoreFile);
export const contentLimits = { most: 10_000, usual: 10_000 };

export const ContentQuery = T.Object({
  limit: T.Optional(
    T.Integer({ minimum: 1, maximum: contentLimits.most, default: contentLimits.usual }),
  ),
  page: T.Optional(count("The `next_page` of the page before.")),
});

export const VectorStoreFileContent = T.Object({
  object: T.Literal("vector_store.file_content.page"),
  data: T.Array(T.Object({ type: T.Literal("text"), text: T.String() }), {
    description: "The file's passages, in their order.",
  }),
  has_more: T.Boolean(),
  next_page: orNull(T.String()),
});

export const FileBatch = T.Object({
  id: T.String(),
  object: T.Literal("vector_store.files_batch"),
  created_at: T.Integer({ description: "Unix time in seconds." }),
  vector_store_id: T.String(),
  status: FileStatus,
  file_counts: FileCounts,
});

export type FileBatch = Static<typeof FileBatch>;

export const FileBatchRequest = openObject({
  file_ids: nullable(
    T.Array(T.String(), { minItems: 1, maxItems: mostFilesAtOnce }),
    "Uploaded files; what is said of attributes and cutting holds for all.",
  ),
  files: nullable(
    T.Array(VectorStoreFileRequest, { minItems: 1, maxItems: mostFilesAtOnce }),
    "Uploaded files, each with its own attributes and cutting; instead of `file_ids`.",
  ),
  attributes: nullable(Attributes),
  chunking_strategy: nullable(ChunkingStrategy),
});

export type FileBatchRequest = Static<typeof FileBatchRequest>;

const mostQueries = 16;

const searchesAsAsked =
  "cannot be honoured: this node searches for what was asked. Leave it out, or send false";

export const VectorStoreSearchRequest = openObject({
  query: T.Union(
    [
      T.String({ minLength: 1 }),
      T.Array(T.String({ minLength: 1 }), { minItems: 1, maxItems: mostQueries }),
    ],
    {
      "x-expected": `a text, or a list of 1 to ${mostQueries} texts`,
      description: "The question, or several: what is found for any of them counts.",
    },
  ),
  filters: nullable(Filter),
  max_num_results: nullable(T.Integer({ minimum: 1, maximum: 50 }), "Most passages.", 10),
  ranking_options: nullable(
    openObject(
      {
        ranker: optional(
          T.Union([
            T.Literal("none"),
            T.Literal("auto"),
            T.Literal("default-2024-11-15"),
            T.Null(),
          ]),
          "`none` asks no reranking model; the others ask the node's, where it has one.",
        ),
        hybrid_search: ignored(
          "How vectors and words are weighed is the node's setting (`[retrieval]`).",
        ),
        score_threshold: nullable(
          T.Number({ minimum: 0, maximum: 1 }),
          "Least score of a passage.",
          0,
        ),
      },
      { description: "How passages are ranked." },
    ),
  ),
  rewrite_query: nullable(
    T.Union([rejectedAs(T.Literal(true), searchesAsAsked), T.Literal(false)], {
      "x-expected": "true or false",
    }),
    "Whether the query is rewritten first, which it never is.",
    false,
  ),
});

export type VectorStoreSearchRequest = Static<typeof VectorStoreSearchRequest>;

export const VectorStoreSearchResult = T.Object({
  object: T.Literal("vector_store.search_results.page"),
  search_query: T.Array(T.String()),
  data: T.Array(
    T.Object({
      file_id: T.String(),
      filename: T.String(),
      score: T.Number({ description: "As retrieval scores." }),
      attributes: Attributes,
      content: T.Array(T.Object({ type: T.Literal("text"), text: T.String() })),
    }),
    { description: "One for each passage, in descending score." },
  ),
  has_more: T.Literal(false),
  next_page: T.Null(),
});

export type VectorStoreSearchResult = Static<typeof VectorStoreSearchResult>;
