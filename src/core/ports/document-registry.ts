/**
 * What the node remembers of documents over HTTP. Each call is one transaction: what it returned
 * from survives a crash, and what it threw from changed nothing.
 */

import type { FileUsage } from "../documents/quota.ts";
import type {
  AttributeFilter,
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
  addFile(file: FileRecord): Promise<void>;
  /** Those of the ids that are files, and that are visible, in their order. */
  find(ids: readonly string[], visible?: Visibility): Promise<FileRecord[]>;
  files(
    page: PageRequest,
    filter: { purpose?: string; visible?: Visibility },
  ): Promise<Page<FileRecord>>;
  /** Removes it, also from every vector store; its bytes are to be deleted. */
  removeFile(id: string): Promise<void>;
  filesExpiredAt(now: Date): Promise<FileRecord[]>;
  /** Those of the ids that are files; undefined where there is no registry that could tell. */
  known(ids: readonly string[]): Promise<ReadonlySet<string> | undefined>;
  /** What all files take, or one owner's; each counts as `least` bytes at least. */
  usageOf(least: number, owner?: string): Promise<FileUsage>;
}

export type StoreChange = Partial<
  Pick<StoreRecord, "name" | "description" | "metadata" | "lastActiveAt" | "state">
> & { expiresAfterDays?: number | null };

export interface StoreRegistry {
  /** Adds it, unless there is one of its id or collection, or `most` already; says whether it did. */
  addStore(store: StoreRecord, most?: number): Promise<boolean>;
  store(id: string): Promise<StoreRecord | undefined>;
  /** By its collection's name. */
  storeOf(collection: string): Promise<StoreRecord | undefined>;
  /** `ids`: those alone. */
  stores(page: PageRequest, ids?: readonly string[]): Promise<Page<StoreRecord>>;
  allStores(): Promise<StoreRecord[]>;
  changeStore(id: string, change: StoreChange): Promise<void>;
  /** Removes it with its files and batches; with `collection`, that is to be dropped. */
  removeStore(id: string, drops: { collection: boolean }): Promise<void>;
  /** Removes its files and batches; it stays, expired, and its collection is to be dropped. */
  expireStore(id: string): Promise<void>;
}

/** Where files of a vector store are looked for: all of it, or one batch. */
export interface StoreFilesOf {
  store: string;
  batch?: string;
  status?: FileStatus;
}

/** What is to be deleted from a collection. */
export interface Removal {
  /** Its name; empty: `document` is the id of a file whose bytes go. */
  collection: string;
  /** The document whose passages go; undefined: the collection goes, and was this node's own. */
  document: string | undefined;
}

export interface Selection {
  documents: DocumentSelection;
  hidden: ReadonlySet<string>;
}

export interface StoreFileRegistry {
  /**
   * Adds them, or puts them in the place of what they were; with a batch, all are in it. Nothing is
   * changed where more than `maxQueue` would be in progress ("full"), or where one of `completed`,
   * by their ids, is not completed any more ("changed").
   */
  putStoreFiles(
    files: readonly StoreFile[],
    options?: { batch?: FileBatch; maxQueue?: number; completed?: readonly string[] },
  ): Promise<"put" | "full" | "changed">;
  /** Those of the files that are in the store. */
  inStore(store: string, files: readonly string[]): Promise<StoreFile[]>;
  storeFiles(of: StoreFilesOf, page: PageRequest): Promise<Page<StoreFile>>;
  counts(of: Omit<StoreFilesOf, "status">): Promise<FileCounts>;
  /** Bytes of all of a store's passages. */
  usageOf(store: string): Promise<number>;
  /** Of each file the attributes; of one that is not in its store none. */
  attributesOf(files: readonly Pick<StoreFile, "store" | "file">[]): Promise<Attributes[]>;
  changeAttributes(store: string, file: string, attributes: Attributes): Promise<void>;
  /** Removes it; its passages are to be deleted. */
  removeStoreFile(store: string, file: string): Promise<void>;
  /** The documents whose passages may be found, as whichever list is shorter; and those that are hidden. */
  selection(
    store: Pick<StoreRecord, "id" | "collection">,
    filter?: AttributeFilter,
  ): Promise<Selection>;
  /** Documents of a collection whose passages may not be found: half stored, or to be deleted. */
  hidden(collection: string): Promise<ReadonlySet<string>>;
  /** What a file is called in a vector store; undefined where it is in none. */
  filenameOf(file: string): Promise<string | undefined>;
  /** Makes the store's files those that its collection holds, besides those that were added over HTTP. */
  reconcile(store: string, found: readonly StoreFile[]): Promise<void>;
  batch(store: string, id: string): Promise<FileBatch | undefined>;
  /** Cancels those of its files that are in progress; returns those whose passages may be stored in part, and are to be deleted. */
  cancelBatch(id: string): Promise<StoreFile[]>;
  /** Passages of all files, or of those that one owner added. */
  passagesOf(owner?: string): Promise<number>;
}

export interface QueueRegistry {
  /** How many are in progress. */
  queued(): Promise<number>;
  /** The owners of what is in progress. */
  waitingOwners(): Promise<(string | undefined)[]>;
  /** The first in line, of an owner; those of `except` are passed by. */
  nextOf(owner: string | undefined, except: ReadonlySet<string>): Promise<StoreFile | undefined>;
  /** Says that passages of it may be stored from now on; whether it is still in progress. */
  begin(store: string, file: string): Promise<boolean>;
  /** Writes what came of it, unless it is not in progress any more; says whether it was. */
  settle(outcome: StoreFile): Promise<boolean>;
  removals(): Promise<Removal[]>;
  isRemoved(removal: Removal): Promise<boolean>;
  addRemoval(removal: Removal): Promise<void>;
  removed(removal: Removal): Promise<void>;
}

export interface DocumentRegistry {
  readonly files: FileRegistry;
  readonly stores: StoreRegistry;
  readonly storeFiles: StoreFileRegistry;
  readonly queue: QueueRegistry;
}
