/** What the node remembers of files, of vector stores, and of files in vector stores. */

/** Strings, numbers and booleans by name: what a filter asks about. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface FileRecord {
  id: string;
  filename: string;
  bytes: number;
  sha256: string;
  /** What its content is, as a media type. */
  type: string;
  purpose: string;
  /** Whose it is: the id of a key; absent where no key was needed. */
  owner?: string;
  createdAt: Date;
  expiresAt?: Date;
}

export type StoreState = "ready" | "expired";

export interface StoreRecord {
  id: string;
  /** The name of its collection. */
  collection: string;
  name: string;
  description?: string;
  metadata: Readonly<Record<string, string>>;
  /** How long it may be unused. */
  expiresAfterDays?: number;
  createdAt: Date;
  lastActiveAt: Date;
  state: StoreState;
  /** Whether it was made over HTTP; else it is a collection of the command line. */
  isOwn: boolean;
}

export const fileStatuses = ["in_progress", "completed", "failed", "cancelled"] as const;

export type FileStatus = (typeof fileStatuses)[number];

export type FileCounts = Readonly<Record<FileStatus, number>>;

export type FailureCode = "server_error" | "unsupported_file" | "invalid_file";

export interface Failure {
  code: FailureCode;
  /** For a person. */
  message: string;
}

/** How a file is cut into passages. */
export interface Chunking {
  maxTokens: number;
  overlapTokens: number;
}

/** A file in a vector store. */
export interface StoreFile {
  store: string;
  file: string;
  filename: string;
  /** Its name in the collection. */
  document: string;
  /** Whether it was added over HTTP; else others put it into the collection. */
  isUploaded: boolean;
  /** Bytes of the uploaded file; absent where there is none. */
  bytes?: number;
  attributes: Attributes;
  status: FileStatus;
  /** Why it failed; or, while it is in progress, what it waits for. */
  failure?: Failure;
  /** Bytes of its passages, vectors included. */
  usageBytes: number;
  passages: number;
  /** Not known of what others put into the collection. */
  chunking?: Chunking;
  /** Who added it. */
  owner?: string;
  createdAt: Date;
}

export interface FileBatch {
  id: string;
  store: string;
  createdAt: Date;
  isCancelled: boolean;
}
