/** Schemas of vector stores, their files, batches and searches. */
import { type Static, Type as T } from "@sinclair/typebox";
import { chunkBounds, fileStatuses } from "../../../core/documents/records.ts";
import { Attributes, Filter, Metadata, ShownAttributes } from "../../wire/attributes.ts";
import * as f from "../../wire/fields.ts";
import { pageQuery } from "../../wire/page-schema.ts";

const ChunkingStrategy = T.Union(
  [
    f.openObject({ type: T.Literal("auto") }),
    f.openObject({
      type: T.Literal("static"),
      static: f.openObject(
        {
          max_chunk_size_tokens: T.Integer({
            minimum: chunkBounds.least,
            maximum: chunkBounds.most,
            description: "Most tokens of a passage, within the embedding model's context.",
          }),
          chunk_overlap_tokens: f.count("Tokens that two passages share; at most half of one."),
        },
        { description: "How long passages are." },
      ),
    }),
  ],
  {
    "x-expected": '{ "type": "auto" }, or { "type": "static", "static": { … } }',
    description:
      "How files are split. `auto`: into passages of at most 256 tokens, at headings and sentences.",
  },
);

const ChunkingUsed = T.Union([
  T.Object({
    type: T.Literal("static"),
    static: T.Object({ max_chunk_size_tokens: T.Integer(), chunk_overlap_tokens: T.Integer() }),
  }),
  T.Object({ type: T.Literal("other") }),
]);

const ExpiresAfter = f.openObject({
  anchor: T.Literal("last_active_at"),
  days: { ...f.integer(1, 365), description: "Days without use." },
});

const expiresAfter = f.optional(
  f.orNull(ExpiresAfter, { "x-expected": "{ anchor: 'last_active_at', days: 1 to 365 }, or null" }),
  "When it expires, by days without use: its files are removed and it is no longer searched. Null: never.",
);

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
  created_at: f.UnixTime,
  name: T.String(),
  description: f.orNull(T.String()),
  usage_bytes: T.Integer({ description: "Bytes of its files' passages, with their vectors." }),
  file_counts: FileCounts,
  status: f.oneOf(["expired", "in_progress", "completed"]),
  expires_after: f.orNull(ExpiresAfter),
  expires_at: f.orNull(T.Integer()),
  last_active_at: T.Integer({ description: "To the minute." }),
  metadata: Metadata,
  collection: T.String({ description: "The name of its collection." }),
});

export type VectorStore = Static<typeof VectorStore>;

const mostFilesAtOnce = 2000;

const name = f.orNull(T.String({ maxLength: 256 }), { description: "For people." });

export const VectorStoreRequest = f.openObject({
  name: T.Optional(name),
  description: f.nullable(T.String({ maxLength: 2048 }), "What it holds, for people."),
  file_ids: f.nullable(
    T.Array(T.String(), { maxItems: mostFilesAtOnce }),
    "Uploaded files to add.",
  ),
  chunking_strategy: f.nullable(ChunkingStrategy),
  expires_after: expiresAfter,
  metadata: f.nullable(Metadata),
});

export type VectorStoreRequest = Static<typeof VectorStoreRequest>;

export const VectorStoreUpdate = f.openObject({
  name: T.Optional(name),
  expires_after: expiresAfter,
  metadata: f.nullable(Metadata, "Replaces all pairs."),
  file_ids: f.ignored("Files are added under `/files`."),
});

export type VectorStoreUpdate = Static<typeof VectorStoreUpdate>;

export const VectorStoreQuery = pageQuery({});

const FileStatus = f.oneOf(fileStatuses);

export const VectorStoreFile = T.Object({
  id: T.String({ description: "The file's id." }),
  object: T.Literal("vector_store.file"),
  created_at: f.UnixTime,
  vector_store_id: T.String(),
  filename: T.String(),
  status: FileStatus,
  last_error: f.orNull(
    T.Object({
      code: f.oneOf(["server_error", "unsupported_file", "invalid_file"]),
      message: T.String(),
    }),
    { description: "Why it failed, or what it waits for." },
  ),
  usage_bytes: T.Integer({ description: "Bytes of its passages, with their vectors." }),
  bytes: f.optional(T.Integer(), "Bytes of the file; absent if it was not uploaded."),
  passages: T.Integer({ description: "How many passages it has." }),
  attributes: ShownAttributes,
  chunking_strategy: ChunkingUsed,
});

export type VectorStoreFile = Static<typeof VectorStoreFile>;

export const VectorStoreFileRequest = f.openObject({
  file_id: T.String({ minLength: 1, description: "An uploaded file." }),
  attributes: f.nullable(Attributes),
  chunking_strategy: f.nullable(ChunkingStrategy),
});

export type VectorStoreFileRequest = Static<typeof VectorStoreFileRequest>;

export const VectorStoreFileUpdate = f.openObject({
  attributes: f.orNull(Attributes, { description: "Replaces all attributes." }),
});

export const VectorStoreFileQuery = pageQuery({
  filter: f.optional(FileStatus, "Only files with this status."),
});

export const mostTexts = 10_000;

export const ContentQuery = T.Object({
  limit: f.optional(f.integer(1, mostTexts), "Most passages of the page.", mostTexts),
  page: T.Optional(f.count("The `next_page` of the page before.")),
});

export const VectorStoreFileContent = T.Object({
  object: T.Literal("vector_store.file_content.page"),
  data: T.Array(T.Object({ type: T.Literal("text"), text: T.String() }), {
    description: "The file's passages, in their order.",
  }),
  has_more: T.Boolean(),
  next_page: f.orNull(T.String()),
});

export const FileBatch = T.Object({
  id: T.String(),
  object: T.Literal("vector_store.files_batch"),
  created_at: f.UnixTime,
  vector_store_id: T.String(),
  status: FileStatus,
  file_counts: FileCounts,
});

export type FileBatch = Static<typeof FileBatch>;

export const FileBatchRequest = f.openObject({
  file_ids: f.nullable(
    T.Array(T.String(), { minItems: 1, maxItems: mostFilesAtOnce }),
    "Uploaded files, with the same attributes and chunking.",
  ),
  files: f.nullable(
    T.Array(VectorStoreFileRequest, { minItems: 1, maxItems: mostFilesAtOnce }),
    "Uploaded files with their own attributes and chunking; instead of `file_ids`.",
  ),
  attributes: f.nullable(Attributes),
  chunking_strategy: f.nullable(ChunkingStrategy),
});

export type FileBatchRequest = Static<typeof FileBatchRequest>;

const mostQueries = 16;

const searchesAsAsked =
  "cannot be honoured: this node does not rewrite queries. Leave it out, or send false";

export const VectorStoreSearchRequest = f.openObject({
  query: T.Union([f.nonEmpty, T.Array(f.nonEmpty, { minItems: 1, maxItems: mostQueries })], {
    "x-expected": `a text, or a list of 1 to ${mostQueries} texts`,
    description: "One question or several; matches of any of them count.",
  }),
  filters: f.nullable(Filter),
  max_num_results: f.nullable(f.integer(1, 50), "Most passages.", 10),
  ranking_options: f.nullable(
    f.openObject(
      {
        ranker: f.optional(
          T.Union([
            T.Literal("none"),
            T.Literal("auto"),
            T.Literal("default-2024-11-15"),
            T.Null(),
          ]),
          "`none`: no reranking; others: the node's reranking model, if it has one.",
        ),
        hybrid_search: f.ignored(
          "The node decides how vectors and words count together (`retrieval.mode`).",
        ),
        score_threshold: f.nullable(f.number(0, 1), "Least score of a passage.", 0),
      },
      { description: "How passages are ranked." },
    ),
  ),
  rewrite_query: f.nullable(
    T.Union([f.rejectedAs(T.Literal(true), searchesAsAsked), T.Literal(false)], {
      "x-expected": "true or false",
    }),
    "Queries are never rewritten.",
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
      score: T.Number({ description: "As in `/v1/retrieve`." }),
      attributes: ShownAttributes,
      content: T.Array(T.Object({ type: T.Literal("text"), text: T.String() })),
    }),
    { description: "One for each passage, in descending score." },
  ),
  has_more: T.Literal(false),
  next_page: T.Null(),
});

export type VectorStoreSearchResult = Static<typeof VectorStoreSearchResult>;
