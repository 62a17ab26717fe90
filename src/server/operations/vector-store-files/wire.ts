/** Files of vector stores between the wire and the domain. */

import type { Static } from "@sinclair/typebox";
import type { StoreFile } from "../../../core/documents/records.ts";
import type { AddedFile, FileText } from "../../../core/documents/store-file-service.ts";
import { given } from "../../../core/given.ts";
import { redactPaths } from "../../redact-paths.ts";
import { checkedPairs } from "../../wire/attributes.ts";
import { toChunking, toChunkingUsed } from "../../wire/chunking.ts";
import { toSeconds } from "../../wire/unix-time.ts";
import type { VectorStoreRequest } from "../vector-stores/schema.ts";
import type { VectorStoreFile, VectorStoreFileContent, VectorStoreFileRequest } from "./schema.ts";

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

/** `at`: where the file stands in the body, with a dot behind. */
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

/** Files that are named in one list, and cut in one way. */
export function toAddedFiles({ file_ids: ids, ...rest }: Several): AddedFile[] {
  return (ids ?? []).map((id, index) => ({
    ...toAddedFile({ file_id: id, ...rest }),
    field: `file_ids[${index}]`,
  }));
}

export function toContentPage({
  texts,
  hasMore,
}: {
  texts: readonly FileText[];
  hasMore: boolean;
}): Static<typeof VectorStoreFileContent> {
  const last = texts.at(-1);
  return {
    object: "vector_store.file_content.page",
    data: texts.map(({ text }) => ({ type: "text", text })),
    has_more: hasMore,
    next_page: hasMore && last !== undefined ? String(last.position + 1) : null,
  };
}
