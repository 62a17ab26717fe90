/** The caller of a documents operation, and which documents it may see. */
import { NodeError } from "../errors.ts";
import type { Visibility } from "../ports/document-registry.ts";
import { quoted } from "../quoted.ts";

/** 0: no limit. */
export interface DocumentQuota {
  bytes: number;
  files: number;
  /** Passages of files in vector stores. */
  passages: number;
}

export interface DocumentCaller {
  /** Files with the same id count together; absent for a caller that needs no key. */
  id?: string;
  /** Its name in messages: "The key 'ada'". */
  called: string;
  /** Ids of the vector stores that it is bound to; absent: it may use all. */
  vectorStores?: readonly string[];
  readOnlyStores?: readonly string[];
  /** Its own limits; the node's apply to the rest. */
  quota?: Readonly<Partial<DocumentQuota>>;
}

const readSuffix = ":read";

/** Parses a key's bindings to vector stores: `vs_1` to read and fill, `vs_1:read` to read. */
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

/** What a bound caller may see; undefined: everything. */
export const visibilityOf = ({ id, vectorStores }: DocumentCaller): Visibility | undefined =>
  vectorStores && { owner: id, stores: vectorStores };

/** For an object that does not exist or that the caller may not see: the error is the same. */
export const noSuch = (what: string, id: string, param: string): NodeError =>
  new NodeError("no_such_object", `No such ${what}: ${quoted(id)}.`, { param });
