/** Port: records of files and vector stores. Each call is one transaction, and survives a crash once it returns. */
import type { FileUsage } from "../documents/quota.ts";
import type {
  AttributeFilter,
  Attributes,
  FileBatch,
  FileCounts,
  FileRecord,
  FileStatus,
  StoreFile,
  StoreOutline,
  StoreRecord,
} from "../documents/records.ts";
import type { Page, PageRequest } from "../page.ts";
import type { DocumentSelection } from "./passage-repository.ts";

/** What a caller may see: its own files, and those in some vector stores. */
export interface Visibility {
  owner: string | undefined;
  stores: readonly string[];
}

export interface FileRegistry {
  addFile(file: FileRecord): Promise<void>;
  /** The visible files among the ids, in order. */
  findFiles(ids: readonly string[], visible?: Visibility): Promise<FileRecord[]>;
  files(
    page: PageRequest,
    filter: { purpose?: string; visible?: Visibility },
  ): Promise<Page<FileRecord>>;
  /** Removes the record, also from every vector store; the caller deletes the bytes. */
  removeFile(id: string): Promise<void>;
  filesExpiredAt(now: Date): Promise<FileRecord[]>;
  /** The ids that are files; undefined if there is no registry. */
  knownFiles(ids: readonly string[]): Promise<ReadonlySet<string> | undefined>;
  /** Usage of all files, or of one owner's; each counts as at least `leastFileBytes`. */
  fileUsage(owner?: string): Promise<FileUsage>;
}

type StoreChange = Partial<Pick<StoreRecord, "name" | "description" | "metadata" | "state">> & {
  expiresAfterDays?: number | null;
};

export interface StoreRegistry {
  /** Returns false if the id or the collection exists already, or there are `most` stores, or `mostOwn` of its owner. */
  addStore(store: StoreRecord, bounds?: { most: number; mostOwn: number }): Promise<boolean>;
  store(id: string): Promise<StoreRecord | undefined>;
  storeOf(collection: string): Promise<StoreRecord | undefined>;
  stores(page: PageRequest, ids?: readonly string[]): Promise<Page<StoreRecord>>;
  /** All, or those with these `ids`. */
  outlines(ids?: readonly string[]): Promise<StoreOutline[]>;
  changeStore(id: string, change: StoreChange): Promise<void>;
  /** Of all that were last used before, in one write, for which others wait. */
  touchStores(ids: readonly string[], lastActiveAt: Date, before: Date): Promise<void>;
  /** Removes it with its files and batches; with `collection`, also records that the collection is to be dropped; with `ifNoneUploaded`, not if a file in it was added over HTTP. */
  removeStore(id: string, how: { collection: boolean; ifNoneUploaded?: boolean }): Promise<void>;
  /** Removes its files and batches, marks it expired, and records that its collection is to be dropped. */
  expireStore(id: string): Promise<void>;
}

/** Selects files of a vector store, or of one batch. */
export interface StoreFilesOf {
  store: string;
  batch?: string;
  status?: FileStatus;
}

/** A pending deletion. */
export interface Removal {
  /** The collection's name; empty: `document` is the id of a file whose bytes are deleted. */
  collection: string;
  /** The document whose passages are deleted; undefined: the whole collection, created by this node. */
  document: string | undefined;
}

interface Selection {
  documents: DocumentSelection;
  hidden: ReadonlySet<string>;
}

/** Without attributes, it keeps those that it has in the store. */
export type PutFile = Omit<StoreFile, "attributes"> & Partial<Pick<StoreFile, "attributes">>;

export interface StoreFileRegistry {
  /** Changes nothing if more than `maxQueue` files would be in progress, or more than `maxOwn` of `owner` ("full"), or, with `unchanged`, a file or its store is gone, or the status or chunking of one of these is another by now ("changed"). */
  putStoreFiles(
    files: readonly PutFile[],
    options?: {
      batch?: FileBatch;
      maxQueue?: number;
      maxOwn?: number;
      owner?: string;
      unchanged?: readonly StoreFile[];
    },
  ): Promise<"put" | "full" | "changed">;
  /** The files among these that are in the store. */
  inStore(store: string, files: readonly string[]): Promise<StoreFile[]>;
  storeFiles(of: StoreFilesOf, page: PageRequest): Promise<Page<StoreFile>>;
  counts(of: Omit<StoreFilesOf, "status">): Promise<FileCounts>;
  storeUsage(store: string): Promise<number>;
  /** The attributes of each file; empty if it is not in its store. */
  attributesOf(files: readonly Pick<StoreFile, "store" | "file">[]): Promise<Attributes[]>;
  changeAttributes(store: string, file: string, attributes: Attributes): Promise<void>;
  /** Removes it, and records that its passages are to be deleted. */
  removeStoreFile(store: string, file: string): Promise<void>;
  /** The documents that a search may find, as whichever list is shorter, and those that are hidden. Long ones of several callers take turns. */
  selection(
    store: Pick<StoreRecord, "id" | "collection">,
    filter?: AttributeFilter,
    caller?: string,
  ): Promise<Selection>;
  /** Documents that a search must not find: partly stored, or to be deleted. */
  hidden(collection: string): Promise<ReadonlySet<string>>;
  /** Those of the documents that were added to a collection over HTTP and removed again, though it may have them, as one of a backup. */
  removedFrom(collection: string, documents: readonly string[]): Promise<ReadonlySet<string>>;
  /** A file's name in any vector store; undefined if it is in none. */
  filenameOf(file: string): Promise<string | undefined>;
  /** Updates the files that were not added over HTTP to the documents that the collection holds: JSON of names with passages, which crosses to a thread fastest. Returns whether those that were, and are completed, are among the documents too. */
  reconcile(
    store: Pick<StoreRecord, "id" | "collection">,
    documents: string,
    now: Date,
  ): Promise<boolean>;
  batch(store: string, id: string): Promise<FileBatch | undefined>;
  /** Cancels the batch's files in progress; returns those that may be partly stored, and whose passages are to be deleted. */
  cancelBatch(id: string): Promise<StoreFile[]>;
  /** Number of passages of all files, or of those that one owner added. */
  passagesOf(owner?: string): Promise<number>;
}

export interface QueueRegistry {
  /** Throws if it cannot be read now, or its last change could not be written. */
  check(): Promise<void>;
  /** Number of files in progress, of all or of one owner. */
  queued(owner?: string): Promise<number>;
  waitingOwners(): Promise<(string | undefined)[]>;
  /** The first file of an owner in the queue; stores and files (`store/file`) of `except` are skipped. */
  nextOf(owner: string | undefined, except: ReadonlySet<string>): Promise<StoreFile | undefined>;
  /** Records that passages of the file may be stored from now on; false if it is no longer in progress. */
  begin(store: string, file: string): Promise<boolean>;
  /** Saves the outcome if the file is still in progress; returns whether it was. */
  settle(outcome: StoreFile): Promise<boolean>;
  /** Puts uploaded files that count as completed into the queue again. */
  queueAgain(store: string, files: readonly string[]): Promise<void>;
  /** Some of the pending deletions of passages; those of the collections in `except` are skipped. */
  removals(except?: readonly string[]): Promise<Removal[]>;
  /** The ids of files whose bytes are still to be deleted. */
  deletions(): Promise<string[]>;
  isRemoved(removal: Removal): Promise<boolean>;
  addRemoval(removal: Removal): Promise<void>;
  /** Without a document: the collection's others are done too. */
  removed(removal: Removal): Promise<void>;
}

export interface DocumentRegistry
  extends FileRegistry,
    StoreRegistry,
    StoreFileRegistry,
    QueueRegistry {}
