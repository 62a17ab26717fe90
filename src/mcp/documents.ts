/** Reads a document's passages in order, for MCP tools and resources. */
import type { Documents } from "../core/documents/documents.ts";
import type { StoreFile } from "../core/documents/records.ts";
import type { FileText } from "../core/documents/store-file-service.ts";
import { NodeError } from "../core/errors.ts";
import type { RetrievalService } from "../core/retrieval/retrieval-service.ts";
import { redactPaths } from "../server/middleware/errors.ts";
import type { Work } from "./tools.ts";

interface DocumentPlace {
  /** The collection's id or name. */
  collection: string;
  document: string;
  /** The field that names the collection, for error messages. */
  field: string;
}

interface DocumentText {
  name: string;
  id: string;
  collection: string;
  total: number;
  passages: FileText[];
  /** Whether passages were left out or cut because of their length. */
  isCut: boolean;
  /** Whether the document continues after these passages. */
  hasMore: boolean;
}

export async function documentText(
  { collection, document, field }: DocumentPlace,
  range: { from: number; limit: number },
  { caller, documents, signal }: Pick<Work, "caller" | "documents" | "signal">,
): Promise<DocumentText> {
  const { storeAccess, storeFiles } = documents;
  const store = await storeAccess.find(caller, collection, field);
  const file = await storeFiles.get(caller, store.id, document);
  checkReadable(file);
  const { texts, hasMore } = await storeFiles.content(caller, store.id, document, range);
  signal.throwIfAborted();
  const { filename: name, passages: total } = file;
  if (texts.length === 0 && range.from > 0) {
    throw new NodeError(
      "invalid_request",
      `There is nothing at position ${range.from}: '${document}' has ${total} passages, and the first is at 0.`,
    );
  }
  const { items: passages, isCut } = withinBudget(texts);
  return {
    ...{ name, id: file.file, collection: store.id, total, passages, isCut },
    hasMore: hasMore || isCut,
  };
}

function checkReadable({ file, status, failure }: StoreFile): void {
  if (status === "completed") return;
  const why =
    status === "in_progress"
      ? "is still being ingested; read it when list_documents says that it is completed"
      : `was not ingested: ${failure === undefined ? status : redactPaths(failure.message)}`;
  throw new NodeError("invalid_request", `The document '${file}' ${why}.`);
}

/** Most characters of an answer: a client passes all of it to a model. */
const most = 200_000;

/** The first items that fit; a first item that is too long by itself is cut. */
export function withinBudget<Item extends { text: string }>(
  all: readonly Item[],
): { items: Item[]; isCut: boolean } {
  const items: Item[] = [];
  let left = most;
  for (const item of all) {
    if (item.text.length > left) {
      if (items.length === 0) items.push({ ...item, text: item.text.slice(0, left) });
      return { items, isCut: true };
    }
    left -= item.text.length;
    items.push(item);
  }
  return { items, isCut: false };
}

export type McpDocuments = Pick<Documents, "stores" | "storeFiles" | "storeAccess"> & {
  retrieval: RetrievalService;
};
