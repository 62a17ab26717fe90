/** Records of files, of vector stores, and of files in vector stores. */
import { NodeError } from "../errors.ts";

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface FileRecord {
  id: string;
  filename: string;
  bytes: number;
  sha256: string;
  type: string;
  purpose: string;
  /** The id of the key that uploaded it; absent if no key was needed. */
  owner?: string;
  createdAt: Date;
  expiresAt?: Date;
}

export interface StoreRecord {
  id: string;
  collection: string;
  name: string;
  description?: string;
  metadata: Readonly<Record<string, string>>;
  expiresAfterDays?: number;
  createdAt: Date;
  lastActiveAt: Date;
  state: "ready" | "expired";
  /** Whether it was created over HTTP; otherwise it is a collection of the command line. */
  isOwn: boolean;
  /** The key that created it, for its share of all stores. */
  owner?: string;
}

/** Without its texts for people, which may have 50 kB: a node has a thousand stores. */
export type StoreOutline = Omit<StoreRecord, "description" | "metadata">;

export const fileStatuses = ["in_progress", "completed", "failed", "cancelled"] as const;

export type FileStatus = (typeof fileStatuses)[number];

export type FileCounts = Readonly<Record<FileStatus, number>>;

export type FailureCode = "server_error" | "unsupported_file" | "invalid_file";

export interface Failure {
  code: FailureCode;
  message: string;
}

export interface Chunking {
  maxTokens: number;
  overlapTokens: number;
}

export interface StoreFile {
  store: string;
  file: string;
  filename: string;
  /** Its name in the collection. */
  document: string;
  /** Whether it was added over HTTP; otherwise it was put into the collection by other means. */
  isUploaded: boolean;
  /** Bytes of the uploaded file; absent if it was not uploaded. */
  bytes?: number;
  attributes: Attributes;
  status: FileStatus;
  /** Why it failed or, while it is in progress, why it is waiting. */
  failure?: Failure;
  usageBytes: number;
  passages: number;
  /** Absent for a file that was not added over HTTP. */
  chunking?: Chunking;
  owner?: string;
  createdAt: Date;
}

export interface FileBatch {
  id: string;
  store: string;
  createdAt: Date;
  isCancelled: boolean;
}

type Value = string | number | boolean;

/** A missing attribute matches only `ne` and `nin`; values of different types are neither equal nor ordered. */
export type AttributeFilter =
  | { type: "eq" | "ne" | "gt" | "gte" | "lt" | "lte"; key: string; value: Value }
  | { type: "in" | "nin"; key: string; values: ReadonlySet<Value> }
  | { type: "and" | "or"; filters: readonly AttributeFilter[] };

export const chunkBounds = { least: 100, most: 4096 };

export function checkChunking(
  { maxTokens, overlapTokens }: Chunking,
  model: { name: string; maxTokens: number },
  field: string,
): void {
  if (maxTokens > model.maxTokens) {
    throw refuse(
      `${field}.static.max_chunk_size_tokens`,
      `is ${maxTokens}; the embedding model '${model.name}' takes at most ${model.maxTokens} tokens. Send no more, or leave it to the node: { "type": "auto" }`,
    );
  }
  if (2 * overlapTokens > maxTokens) {
    throw refuse(
      `${field}.static.chunk_overlap_tokens`,
      `is ${overlapTokens}, which is more than half of the ${maxTokens} tokens of a passage`,
    );
  }
}

const refuse = (param: string, why: string): NodeError =>
  new NodeError("invalid_request", `'${param}' ${why}.`, { param });

/** The document name of an uploaded file: with its id, since two files may have the same name. */
const uploaded = /^(file-[0-9a-f]{24})\/(.*)$/s;

export const newId = (prefix: string): string =>
  `${prefix}${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;

/** Ends with the file's name, since readers are chosen by its extension. */
export const documentOf = (file: string, filename: string): string => `${file}/${filename}`;

/** The name to show to people: for an uploaded file, its own name. */
export const shownName = (document: string): string => uploaded.exec(document)?.[2] ?? document;

export const isFileId = (name: string): boolean => /^file-[0-9a-f]{24}$/.test(name);

/** In the place of a collection's name in a removal, for good: its document is a collection that was dropped, and is not adopted where a backup has it. */
export const droppedCollections = "*";

/** The same for a file that was removed from a collection which was not made over HTTP: what others put there is adopted, and it may be back with a disk that was away, or a backup. */
export const removedFrom = (collection: string): string => `${droppedCollections}${collection}`;

const adopted = "file-doc-";

/** The file id of a document in a collection; documents of the command line have one too. */
export function fileIdOf(collection: string, document: string): string {
  const own = uploaded.exec(document)?.[1];
  if (own !== undefined) return own;
  const digest = new Bun.CryptoHasher("sha256").update(`${collection}\n${document}`).digest("hex");
  return `${adopted}${digest.slice(0, 24)}`;
}

export const isAdopted = (file: string): boolean => file.startsWith(adopted);
