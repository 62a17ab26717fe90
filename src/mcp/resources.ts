/** Documents for MCP: reads their passages in order, and lists them in pages as resources. */
import type { Documents } from "../core/documents/documents.ts";
import type { StoreFile } from "../core/documents/records.ts";
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { quoted } from "../core/quoted.ts";
import type { RetrievalService } from "../core/retrieval/retrieval-service.ts";
import { redactPaths } from "../server/middleware/errors.ts";
import type { Work } from "./tools.ts";

/** `collection`: its id or name; `field`: the request's. `isCut`: passages were left out or cut for their length. */
export async function documentText(
  { collection, document, field }: { collection: string; document: string; field: string },
  range: { from: number; limit: number },
  { caller, documents, signal }: Pick<Work, "caller" | "documents" | "signal">,
) {
  const { storeAccess, storeFiles } = documents;
  const store = await storeAccess.find(caller, collection, field);
  const file = await storeFiles.get(caller, store.id, document);
  checkReadable(file);
  const { texts, hasMore } = await storeFiles.content(caller, store.id, document, range);
  signal.throwIfAborted();
  const { filename: name, passages: total } = file;
  if (texts.length === 0 && range.from > 0) {
    const why = `There is nothing at position ${range.from}: '${document}' has ${total} passages, and the first is at 0.`;
    throw new NodeError("invalid_request", why);
  }
  const { items: passages, isCut } = withinBudget(texts);
  const found = { name, id: file.file, collection: store.id, total, passages, isCut };
  return { ...found, hasMore: hasMore || isCut };
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
const mostCharacters = 200_000;

/** The first items that fit; a first item that is too long by itself is cut. */
export function withinBudget<Item extends { text: string }>(
  all: readonly Item[],
): { items: Item[]; isCut: boolean } {
  const items: Item[] = [];
  let left = mostCharacters;
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

/** Ids, which are looked up and never used as paths. */
interface DocumentAddress {
  collection: string;
  document: string;
  from?: number;
}

const uriTemplate = "paddock://documents/{collection}/{document}{?from}";

const longestUri = 2048;
const form = /^paddock:\/\/documents\/([^/?#]+)\/([^/?#]+)(?:\?from=(\d{1,9}))?$/;

export function toUri({ collection, document, from = 0 }: DocumentAddress): string {
  const path = [collection, document].map(encodeURIComponent).join("/");
  return `paddock://documents/${path}${from === 0 ? "" : `?from=${from}`}`;
}

function fromUri(uri: string): DocumentAddress | undefined {
  const [, collection, document, from = "0"] =
    uri.length > longestUri ? [] : (form.exec(uri) ?? []);
  if (collection === undefined || document === undefined) return undefined;
  try {
    return {
      collection: decodeURIComponent(collection),
      document: decodeURIComponent(document),
      from: Number(from),
    };
  } catch {
    return undefined;
  }
}

const most = { documents: 100, collections: 20, passages: 200 };

const mimeType = "text/plain";

export const resourceTemplate = {
  uriTemplate,
  name: "document",
  title: "A document",
  description:
    "The text of a document's passages, in their order; `from` is the passage that it begins with.",
  mimeType,
};

interface Resource {
  uri: string;
  name: string;
  description: string;
  mimeType: string;
}

/** A page may be short: it covers a limited number of collections, and some are empty. */
export async function listResources(
  cursor: string | undefined,
  work: Work,
): Promise<{ resources: Resource[]; nextCursor?: string }> {
  const resources: Resource[] = [];
  let place: ListPlace | undefined = cursor === undefined ? undefined : fromCursor(cursor);
  for (let looked = 0; looked < most.collections; looked++) {
    const { within = await nextCollection(place?.after, work) }: Partial<ListPlace> = place ?? {};
    if (within === undefined) return { resources };
    const after = place?.within === undefined ? undefined : place.after;
    const left = most.documents - resources.length;
    const { found, last } = await documentsOf(within, after, left, work);
    resources.push(...found);
    place = last === undefined ? { after: within } : { within, after: last };
    if (last !== undefined) break;
  }
  return { resources, ...given({ nextCursor: place && toCursor(place) }) };
}

async function nextCollection(
  after: string | undefined,
  { caller, documents }: Work,
): Promise<string | undefined> {
  const page = { limit: 1, order: "asc" as const, ...given({ after }) };
  const { items } = await documents.stores.list(caller, page);
  return items[0]?.store.id;
}

/** `last`: the last document of this page, if there are more. */
async function documentsOf(
  collection: string,
  after: string | undefined,
  limit: number,
  { caller, documents }: Work,
): Promise<{ found: Resource[]; last?: string }> {
  const page = { limit, order: "asc" as const, ...given({ after }) };
  const status = { status: "completed" } as const;
  const { items, hasMore } = await documents.storeFiles
    .list(caller, collection, page, status)
    .catch((error: unknown) => unlessClosed(error, after));
  const found = items.map(({ file, filename: name, passages }) => ({
    uri: toUri({ collection, document: file }),
    name,
    description: `${passages === 1 ? "1 passage" : `${passages} passages`} of the collection '${collection}'`,
    mimeType,
  }));
  return { found, ...given({ last: hasMore ? items.at(-1)?.file : undefined }) };
}

/** Skips a collection that cannot be opened or is of another model; the others can be read. */
function unlessClosed(error: unknown, after: string | undefined): { items: []; hasMore: false } {
  if (error instanceof NodeError && after === undefined) return { items: [], hasMore: false };
  throw error;
}

export async function readResource(uri: string, work: Work) {
  const address = fromUri(uri);
  if (address === undefined) {
    const why = `There is no resource ${quoted(uri)}; documents are at ${uriTemplate}.`;
    throw new NodeError("no_such_object", why);
  }
  const range = { from: address.from ?? 0, limit: most.passages };
  const read = await documentText({ ...address, field: "uri" }, range, work);
  const texts = read.passages.map(({ text }) => text);
  const last = read.passages.at(-1);
  const next =
    read.hasMore && last !== undefined
      ? toUri({ collection: read.collection, document: read.id, from: last.position + 1 })
      : undefined;
  if (next !== undefined) texts.push(`[The document goes on at ${next}]`);
  const contents = [{ uri, mimeType, text: texts.join("\n\n") }];
  return { contents, ...(next === undefined ? {} : { _meta: { "paddock/next": next } }) };
}

/** Where the list of all documents continues: in a collection, after a document. */
interface ListPlace {
  /** The collection being listed; absent: the one after `after`. */
  within?: string;
  after: string;
}

const longestCursor = 1024;

const toCursor = ({ within = "", after }: ListPlace): string =>
  Buffer.from(JSON.stringify([within, after])).toString("base64url");

function fromCursor(cursor: string): ListPlace {
  const why = "'cursor' is not one that this node gave out; list from the beginning.";
  const refused = new NodeError("invalid_request", why, { param: "cursor" });
  if (cursor.length > longestCursor) throw refused;
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    const [within, after]: unknown[] = Array.isArray(parsed) ? parsed : [];
    if (typeof within !== "string" || typeof after !== "string" || after === "") throw refused;
    return within === "" ? { after } : { within, after };
  } catch {
    throw refused;
  }
}
