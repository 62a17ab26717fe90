/** The caller of a documents operation, and which documents they may see. */
import { NodeError } from "../errors.ts";
import type { Visibility } from "../ports/document-registry.ts";
import { quoted } from "../quoted.ts";

/** 0: no bound. */
export interface DocumentQuota {
  /** Bytes of uploaded files. */
  bytes: number;
  /** Uploaded files. */
  files: number;
  /** Passages of files in vector stores. */
  passages: number;
}

export interface DocumentCaller {
  /** Whose files count together; absent for who needs no key. */
  id?: string;
  /** As a message calls it: "The key 'ada'". */
  called: string;
  /** Ids of the vector stores that it is bound to; absent: it may use all. */
  vectorStores?: readonly string[];
  /** Those of them that it may only read. */
  readOnlyStores?: readonly string[];
  /** Its own bounds; the node's hold where it has none. */
  quota?: Readonly<Partial<DocumentQuota>>;
}

/** What the binding of a key to a vector store ends with that it may only read. */
const readSuffix = ":read";

/** The vector stores that a key's bindings name: `vs_1` to read and fill, `vs_1:read` to read. */
export function boundStores(
  bindings: readonly string[] | undefined,
): Pick<DocumentCaller, "vectorStores" | "readOnlyStores"> {
  if (bindings === undefined) return {};
  const filled = bindings.filter((binding) => !binding.endsWith(readSuffix));
  const read = bindings
    .filter((binding) => binding.endsWith(readSuffix))
    .map((binding) => binding.slice(0, -readSuffix.length))
    .filter((id) => !filled.includes(id));
  return { vectorStores: [...filled, ...read], readOnlyStores: read };
}

/** The node itself: it sees everything. */
export const theNode: DocumentCaller = { called: "The node" };

export const mayUse = ({ vectorStores }: DocumentCaller, store: string): boolean =>
  vectorStores === undefined || vectorStores.includes(store);

export const mayFill = ({ readOnlyStores }: DocumentCaller, store: string): boolean =>
  readOnlyStores?.includes(store) !== true;

/** What a caller who is bound sees; undefined: everything. */
export const visibilityOf = ({ id, vectorStores }: DocumentCaller): Visibility | undefined =>
  vectorStores && { owner: id, stores: vectorStores };

/** Something that is not there, or not for the caller: both sound the same. */
export const noSuch = (what: string, id: string, param: string): NodeError =>
  new NodeError("no_such_object", `No such ${what}: ${quoted(id)}.`, { param });
