/** Converts vector stores, their files, batches and searches between the wire and the domain. */
import type { Static } from "@sinclair/typebox";
import type { Chunking, FileCounts, StoreFile } from "../../../core/documents/records.ts";
import type { AddedFile, BatchView, FileText } from "../../../core/documents/store-file-service.ts";
import type { FoundInFile, StoreQuestion } from "../../../core/documents/store-search.ts";
import type { NewStore, StoreView } from "../../../core/documents/vector-store-service.ts";
import { given } from "../../../core/given.ts";
import { redactPaths } from "../../middleware/errors.ts";
import { checkedPairs, toFilter } from "../../wire/attributes.ts";
import { refuse, toSeconds, withoutNulls } from "../../wire/fields.ts";
import type {
  FileBatch,
  FileBatchRequest,
  VectorStore,
  VectorStoreFile,
  VectorStoreFileContent,
  VectorStoreFileRequest,
  VectorStoreRequest,
  VectorStoreSearchRequest,
  VectorStoreSearchResult,
  VectorStoreUpdate,
} from "./schema.ts";

export function toVectorStore(view: StoreView): VectorStore {
  const { store, counts, usageBytes, expiresAt, isExpired } = view;
  const { id, name, description, metadata, collection, expiresAfterDays: days } = store;
  const isBusy = counts.in_progress > 0;
  return {
    id,
    object: "vector_store",
    created_at: toSeconds(store.createdAt),
    name,
    description: description ?? null,
    usage_bytes: usageBytes,
    file_counts: toCounts(counts),
    status: isExpired ? "expired" : isBusy ? "in_progress" : "completed",
    expires_after: days === undefined ? null : { anchor: "last_active_at", days },
    expires_at: expiresAt === undefined ? null : toSeconds(expiresAt),
    last_active_at: toSeconds(store.lastActiveAt),
    metadata: { ...metadata },
    collection,
  };
}

function toCounts(counts: FileCounts): VectorStore["file_counts"] {
  const { in_progress, completed, failed, cancelled } = counts;
  return { ...counts, total: in_progress + completed + failed + cancelled };
}

export function toNewStore(body: VectorStoreRequest): NewStore {
  const { name, description, metadata, expires_after: expires } = body;
  return withoutNulls({
    name,
    description,
    metadata: metadata && checkedPairs(metadata, "metadata"),
    expiresAfterDays: expires?.days,
  });
}

/** A field that is null is cleared; an absent field stays unchanged. */
export function toStoreChange(
  body: VectorStoreUpdate,
): Omit<NewStore, "expiresAfterDays"> & { expiresAfterDays?: number | null } {
  const { name, metadata, expires_after: expires } = body;
  return given({
    name: name === null ? "" : name,
    metadata: metadata === undefined ? undefined : checkedPairs(metadata ?? {}, "metadata"),
    expiresAfterDays: expires === undefined ? undefined : (expires?.days ?? null),
  });
}

export function toVectorStoreFile(file: StoreFile): VectorStoreFile {
  const { failure } = file;
  return {
    id: file.file,
    object: "vector_store.file",
    created_at: toSeconds(file.createdAt),
    vector_store_id: file.store,
    filename: file.filename,
    status: file.status,
    last_error:
      failure === undefined
        ? null
        : { code: failure.code, message: redactPaths(failure.message).slice(0, longestMessage) },
    usage_bytes: file.usageBytes,
    ...given({ bytes: file.bytes }),
    passages: file.passages,
    attributes: { ...file.attributes },
    chunking_strategy: toChunkingUsed(file.chunking),
  };
}

const longestMessage = 2000;

/** `at`: the file's path in the body, with a trailing dot. */
export function toAddedFile(asked: VectorStoreFileRequest, at = ""): AddedFile {
  const { file_id: file, attributes, chunking_strategy: strategy } = asked;
  return {
    file,
    field: `${at}file_id`,
    chunkingField: `${at}chunking_strategy`,
    ...given({
      attributes: attributes ? checkedPairs(attributes, `${at}attributes`) : undefined,
      chunking: toChunking(strategy),
    }),
  };
}

type Several = Pick<VectorStoreRequest, "file_ids" | "chunking_strategy"> & {
  attributes?: Exclude<VectorStoreFileRequest["attributes"], undefined>;
};

/** Files of one list, which share attributes and chunking. */
export function toAddedFiles({ file_ids: ids, ...rest }: Several): AddedFile[] {
  return (ids ?? []).map((id, index) => ({
    ...toAddedFile({ file_id: id, ...rest }),
    field: `file_ids[${index}]`,
  }));
}

export function toContentPage(
  texts: readonly FileText[],
  hasMore: boolean,
): Static<typeof VectorStoreFileContent> {
  const last = texts.at(-1);
  return {
    object: "vector_store.file_content.page",
    data: texts.map(({ text }) => ({ type: "text", text })),
    has_more: hasMore,
    next_page: hasMore && last !== undefined ? String(last.position + 1) : null,
  };
}

export const toFileBatch = ({ batch, counts, status }: BatchView): FileBatch => ({
  id: batch.id,
  object: "vector_store.files_batch",
  created_at: toSeconds(batch.createdAt),
  vector_store_id: batch.store,
  status,
  file_counts: toCounts(counts),
});

export function toBatchFiles({ file_ids: ids, files, ...rest }: FileBatchRequest): AddedFile[] {
  if (ids && files) throw refuse("files", "excludes 'file_ids'; send one of the two");
  if (files) {
    for (const name of ["attributes", "chunking_strategy"] as const) {
      if (rest[name]) throw refuse(name, "holds for 'file_ids'; with 'files' say it of each");
    }
    return files.map((file, index) => toAddedFile(file, `files[${index}].`));
  }
  if (!ids) throw refuse("file_ids", "is required: a list of ids of uploaded files, or 'files'");
  return toAddedFiles({ file_ids: ids, ...rest });
}

const usualResults = 10;

export function toStoreQuestion(body: VectorStoreSearchRequest): StoreQuestion {
  const { query, filters, max_num_results: limit, ranking_options: ranking } = body;
  const isList = Array.isArray(query);
  return {
    queries: isList ? query : [query],
    fieldOf: (index) => (isList ? `query[${index}]` : "query"),
    bounds: { limit: limit ?? usualResults, scoreThreshold: ranking?.score_threshold ?? 0 },
    isReranked: ranking?.ranker !== "none",
    ...given({ filter: filters ? toFilter(filters, "filters") : undefined }),
  };
}

export const toSearchResult = (
  { queries }: StoreQuestion,
  found: readonly FoundInFile[],
): VectorStoreSearchResult => ({
  object: "vector_store.search_results.page",
  search_query: [...queries],
  data: found.map(({ file, document, score, attributes, source }) => ({
    file_id: file,
    filename: document,
    score,
    attributes: { ...attributes },
    content: [{ type: "text", text: source }],
  })),
  has_more: false,
  next_page: null,
});

/** Undefined: the node's default. */
const toChunking = (strategy: VectorStoreFileRequest["chunking_strategy"]): Chunking | undefined =>
  strategy?.type === "static"
    ? {
        maxTokens: strategy.static.max_chunk_size_tokens,
        overlapTokens: strategy.static.chunk_overlap_tokens,
      }
    : undefined;

/** Unknown for a document that was not added over HTTP. */
function toChunkingUsed(chunking: Chunking | undefined): VectorStoreFile["chunking_strategy"] {
  if (chunking === undefined) return { type: "other" };
  const { maxTokens, overlapTokens } = chunking;
  return {
    type: "static",
    static: { max_chunk_size_tokens: maxTokens, chunk_overlap_tokens: overlapTokens },
  };
}
