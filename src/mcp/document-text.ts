/** Some passages of one document, in their order. */
import type { StoreFile } from "../core/documents/records.ts";
import type { FileText } from "../core/documents/store-file-service.ts";
import { NodeError } from "../core/errors.ts";
import { redactPaths } from "../server/middleware/errors.ts";
import { withinBudget } from "./text-budget.ts";
import type { Work } from "./tool.ts";

export interface DocumentPlace {
  /** Id or name of its collection. */
  collection: string;
  /** Its id. */
  document: string;
  /** The field that names the collection, for a refusal. */
  field: string;
}

export interface DocumentText {
  name: string;
  id: string;
  /** Id of its collection. */
  collection: string;
  /** How many passages it has. */
  total: number;
  passages: FileText[];
  /** Whether passages were left out, or one was cut, for their length. */
  isCut: boolean;
  /** Whether the document goes on behind them. */
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
      ? "is still being taken in; read it when list_documents says that it is completed"
      : `was not taken in: ${failure === undefined ? status : redactPaths(failure.message)}`;
  throw new NodeError("invalid_request", `The document '${file}' ${why}.`);
}
