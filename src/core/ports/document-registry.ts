/**
 * What the node remembers of documents over HTTP. Each call is one transaction: what it returned
 * from survives a crash, and what it threw from changed nothing.
 */

import type { AttributeFilter } from "../documents/attribute-filter.ts";
import type { FileUsage } from "../documents/quota.ts";
import type {
  Attributes,
  FileBatch,
  FileCounts,
  FileRecord,
  FileStatus,
  StoreFile,
  StoreRecord,
} from "../documents/records.ts";
import type { Page, PageRequest } from "../page.ts";
import type { DocumentSelection } from "./passage-repository.ts";

/** Whose things are seen: a caller's own files, and what is in some vector stores. */
export interface Visibility {
  owner: string | undefined;
  stores: readonly string[];
}

export interface FileRegistry {
  addFile(file: FileRecord): void;
  file(id: string): FileRecord | undefined;
  files(page: PageRequest, filter: { purpose?: string; visible?: Visibility }): Page<FileRecord>;
  isVisible(id: string, visible: Visibility): boolean;
  /** Removes it, also from every vector store. */
  removeFile(id: string): void;
  filesExpiredAt(now: Date): FileRecord[];
  /** Those of the ids that are files; undefined where there is no registry that could tell. */
  known(ids: readonly string[]): ReadonlySet<string> | undefined;
  /** What all files take, or one owner's; each counts as `least` bytes at least. */
  usageOf(least: number, owner?: string): FileUsage;
}

export type StoreChange = Partial<
  Pick<StoreRecord, "name" | "description" | "metadata" | "lastActiveAt" | "state">
> & { expiresAfterDays?: number | null };

export interface StoreRegistry {
  addStore(store: StoreRecord): void;
  store(id: string): StoreRecord | undefined;
  /** By its collection's name. */
  storeOf(collection: string): StoreRecord | undefined;
  /** `ids`: those alone. */
  stores(page: PageRequest, ids?: readonly string[]): Page<StoreRecord>;
  allStores(): StoreRecord[];
  changeStore(id: string, change: StoreChange): void;
  /** Removes it with its files and batches; with `collection`, that is to be dropped. */
  removeStore(id: string, drops: { collection: boolean }): void;
  /** Removes its files and batches; it stays, expired, and its collection is to be dropped. */
  expireStore(id: string): void;
}

/** Where files of a vector store are looked for: all of it, or one batch. */
export interface StoreFilesOf {
  store: string;
  batch?: string;
  status?: FileStatus;
}

/** What is to be deleted from a collection. */
export interface Removal {
  collection: string;
  /** The document whose passages go; undefined: the collection goes, and was this node's own. */
  document: string | undefined;
}

export interface Selection {
  documents: DocumentSelection;
  hidden: ReadonlySet<string>;
}

export interface StoreFileRegistry {
  /** Adds them, or puts them in the place of what they were; with a batch, all are in it. */
  putStoreFiles(files: readonly StoreFile[], batch?: FileBatch): void;
  storeFile(store: string, file: string): StoreFile | undefined;
  storeFiles(of: StoreFilesOf, page: PageRequest): Page<StoreFile>;
  counts(of: Omit<StoreFilesOf, "status">): FileCounts;
  /** Bytes of all of a store's passages. */
  usageOf(store: string): number;
  changeAttributes(store: string, file: string, attributes: Attributes): void;
  /** Removes it; its passages are to be deleted. */
  removeStoreFile(store: string, file: string): void;
  /** The documents whose passages may be found, as whichever list is shorter; and those that are hidden. */
  selection(store: Pick<StoreRecord, "id" | "collection">, filter?: AttributeFilter): Selection;
  /** Documents of a collection whose passages may not be found: half stored, or to be deleted. */
  hidden(collection: string): ReadonlySet<string>;
  /** What a file is called in a vector store; undefined where it is in none. */
  filenameOf(file: string): string | undefined;
  /** Makes the store's files those that its collection holds, besides those that were added over HTTP. */
  reconcile(store: string, found: readonly StoreFile[]): void;
  batch(store: string, id: string): FileBatch | undefined;
  /** Cancels those of its files that are in progress; returns those whose passages may be stored in part, and are to be deleted. */
  cancelBatch(id: string): StoreFile[];
  /** Passages of all files, or of those that one owner added. */
  passagesOf(owner?: string): number;
}

export interface QueueRegistry {
  /** How many are in progress. */
  queued(): number;
  /** The owners of what is in progress. */
  waitingOwners(): (string | undefined)[];
  /** The first in line, of an owner; those of `except` are passed by. */
  nextOf(owner: string | undefined, except: ReadonlySet<string>): StoreFile | undefined;
  /** Says that passages of it may be stored from now on; whether it is still in progress. */
  begin(store: string, file: string): boolean;
  /** Writes what came of it, unless it is not in progress any more; says whether it was. */
  settle(outcome: StoreFile): boolean;
  removals(): Removal[];
  isRemoved(removal: Removal): boolean;
  addRemoval(removal: Removal): void;
  removed(removal: Removal): void;
}

export interface DocumentRegistry extends Disposable {
  readonly files: FileRegistry;
  readonly stores: StoreRegistry;
  readonly storeFiles: StoreFileRegistry;
  readonly queue: QueueRegistry;
}
