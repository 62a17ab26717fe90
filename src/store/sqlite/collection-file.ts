/** The SQLite file of a collection: opened, described, emptied. */
import { Database } from "bun:sqlite";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type {
  CollectionDescription,
  CollectionSpec,
  EmbeddingIdentity,
} from "../../core/ports/passage-repository.ts";
import {
  change,
  checkLog,
  emptyLog,
  inTransaction,
  isFull,
  isThere,
  numberOf,
  openOwn,
  remedyFor,
} from "../database.ts";
import { has, hasSegments, prepareTables, readMeta, writeMeta } from "./collection-tables.ts";

export const extension = ".sqlite";

/** Whether a file holds no collection: it was dropped, or the process that created it was killed. */
export function isBlank(path: string): boolean {
  if (!isThere(path)) return true;
  try {
    checkLog(path);
    using database = new Database(path, { readwrite: true, create: false });
    database.run("pragma busy_timeout = 10000");
    return dimensionIn(database) === undefined;
  } catch {
    // Not a database: opening it fails with an error that says so.
    return false;
  }
}

/** So that space can be given back in steps; files that older versions created only use it again. */
const newFilePragmas = ["auto_vacuum = incremental"];

/** A full disk may have room again by then. */
const fullDiskMs = 5000;

/** Creates the file if it does not exist; an existing file keeps its spec. `mayBeBlank`: it may have been dropped meanwhile. */
export function openDatabase(
  name: string,
  path: string,
  spec?: CollectionSpec,
  { onRebuild, mayBeBlank = false }: { onRebuild?: () => void; mayBeBlank?: boolean } = {},
): ReturnType<typeof openOwn> {
  const prepare = (database: Database): void => {
    prepareTables(database, onRebuild);
    if (spec !== undefined) describeOnce(database, spec);
  };
  try {
    const isNew = !isThere(path);
    if (isNew && spec === undefined) throw new Error("its file is gone from the disk");
    const opened = openOwn(path, prepare, { pragmas: isNew ? newFilePragmas : [] });
    if (mayBeBlank || dimensionIn(opened.database) !== undefined) return opened;
    opened.database.close();
    throw new Error("it does not say what vectors it holds");
  } catch (cause) {
    if (cause instanceof NodeError) throw cause;
    const why = `The collection '${name}' cannot be opened: ${remedyFor(cause) ?? `${reasonOf(cause)}; restore it from a backup, or move it away to start with an empty one`}. Its file is ${path}.`;
    const retryAfterMs = isFull(cause) ? fullDiskMs : undefined;
    throw new NodeError("unavailable", why, { cause, ...given({ retryAfterMs }) });
  }
}

/** The dimension of its vectors; undefined if the file holds no collection. */
export function dimensionIn(database: Database): number | undefined {
  const text = has(database, "meta") ? readMeta(database, "dimension") : undefined;
  return text === undefined ? undefined : Number(text);
}

export const countPassages = (database: Database): number =>
  numberOf(
    database,
    hasSegments(database) ? "select passages from totals" : "select count(*) from passages",
  );

export function descriptionOf(
  database: Database,
  name: string,
  dimension: number,
): CollectionDescription {
  const embedding = readMeta(database, "embedding");
  return {
    ...{ name, dimension, distance: "cosine", url: "embedded" },
    ...(embedding !== undefined && { embedding: toIdentity(embedding) }),
  };
}

function toIdentity(text: string): EmbeddingIdentity {
  const { model, fingerprint, queryPrefix, documentPrefix } = JSON.parse(text);
  return { model, fingerprint, queryPrefix, documentPrefix };
}

function describeOnce(database: Database, { dimension, embedding }: CollectionSpec): void {
  database
    .transaction(() => {
      if (dimensionIn(database) !== undefined) return;
      describe(database, dimension, JSON.stringify(embedding));
    })
    .immediate();
}

export function describe(database: Database, dimension: number, embedding: string): void {
  writeMeta(database, "embedding", embedding);
  writeMeta(database, "dimension", String(dimension));
}

/** Deletes the collection's spec, so that it is not opened any more. */
export function forget(database: Database): void {
  // The version of the words belongs to the file's tables, which stay.
  database.run("delete from meta where key <> 'words'");
}

export function empty(database: Database): void {
  inTransaction(database, () => {
    database.run("delete from passages");
    database.run("delete from segments");
    database.run("delete from postings");
    forget(database);
  });
  database.run("vacuum");
  emptyLog(database);
}

/** Runs a write to a collection, and explains SQLite's errors. */
export function writing<Result>(collection: string, write: () => Result): Result {
  try {
    return write();
  } catch (cause) {
    const remedy = remedyFor(cause);
    if (remedy === undefined) throw cause;
    const why = `The collection '${collection}' cannot be written: ${remedy}. (${reasonOf(cause)})`;
    throw new NodeError("unavailable", why, { cause });
  }
}

/** Rows of one page of an answer: a loop that receives it is not held up. */
export const pageSize = 256;

/** Rows to remove in one transaction: some tens of milliseconds. */
export const removalSlice = 512;

export function removeRows(
  database: Database,
  collection: string,
  keys: readonly number[],
): number {
  const sql = "delete from passages where key in (select value from json_each(?))";
  const remove = (): number => change(database, sql, JSON.stringify(keys));
  return writing(collection, () => inTransaction(database, remove));
}

/** SQLite's bytes may have any offset; floats need a multiple of four. */
export function toVector(bytes: Uint8Array): Float32Array {
  return bytes.byteOffset % 4 === 0
    ? new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
    : new Float32Array(bytes.slice().buffer);
}
