/** Who asks about documents, and what of them is theirs to see. */
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
  /** Its own bounds; the node's hold where it has none. */
  quota?: Readonly<Partial<DocumentQuota>>;
}

/** The node itself: it sees everything. */
export const theNode: DocumentCaller = { called: "The node" };

export const mayUse = ({ vectorStores }: DocumentCaller, store: string): boolean =>
  vectorStores === undefined || vectorStores.includes(store);

/** What a caller who is bound sees; undefined: everything. */
export const visibilityOf = ({ id, vectorStores }: DocumentCaller): Visibility | undefined =>
  vectorStores && { owner: id, stores: vectorStores };

/** Something that is not there, or not for the caller: both sound the same. */
export const noSuch = (what: string, id: string, param: string): NodeError =>
  new NodeError("no_such_object", `No such ${what}: ${quoted(id)}.`, { param });
