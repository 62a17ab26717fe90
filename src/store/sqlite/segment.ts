/** A part of a collection that is finished: its words are rows of the collection's file, its vectors a file beside it, and a graph of them finds neighbours without comparing all. */
import type { Database } from "bun:sqlite";
import { readFileSync, writeFileSync } from "node:fs";
import { platform } from "node:os";
import { join } from "node:path";
import { change, insert, numberOf, rowOf, rowsOf } from "../database.ts";
import { toVector } from "./collection-file.ts";
import { hasSize, type IndexFile, removeFile, writeIndexFile } from "./index-file.ts";
import {
  type Chosen,
  type GrowingPart,
  Part,
  type Postings,
  quantize,
  scaleOf,
  scan,
} from "./part.ts";
import { type Neighbour, VectorGraph } from "./usearch-index.ts";

/** Below this share of chosen passages, comparing them is faster than the graph, and misses none. */
const graphShare = 0.15;
/** A graph is asked for so many times what is wanted: the chosen passages are not spread evenly, and comparing them all takes longer. */
const spare = 1.5;
/** SQLite reads all postings of a word to find them; so many are worth remembering. */
const longToFind = 1024;

export interface SegmentRow {
  id: number;
  first: number;
  last: number;
  count: number;
  vectors: VectorFile;
  graph: IndexFile | undefined;
}

/** `scale`: what a vector's numbers were multiplied by; older ones lack it, and are rebuilt. */
export interface VectorFile extends IndexFile {
  scale?: number;
}

/** In the order of keys. */
export function segmentRows(database: Database): SegmentRow[] {
  const rows = rowsOf<Omit<SegmentRow, "vectors" | "graph"> & { vectors: string; graph: string }>(
    database,
    `select id, first_key as first, last_key as last, count, vectors, graph
     from segments order by first_key`,
  );
  return rows.map(({ vectors, graph, ...row }) => ({
    ...row,
    vectors: JSON.parse(vectors),
    graph: graph === null ? undefined : JSON.parse(graph),
  }));
}

export const lastSegmentKey = (segments: readonly SegmentRow[]): number =>
  segments.at(-1)?.last ?? 0;

/** In the caller's transaction, which also removes what the segment replaces. `last`: later passages are not in it. */
export function insertSegment(
  database: Database,
  part: GrowingPart,
  range: { first: number; last: number },
  vectors: VectorFile,
): void {
  insert(database, "segments", {
    ...{ first_key: range.first, last_key: range.last, count: part.count },
    ...{ vectors: JSON.stringify(vectors), graph: null },
    keys: bytesOf(part.keys.subarray(0, part.count)),
    lengths: bytesOf(part.lengths.subarray(0, part.count)),
  });
  const id = rowOf<{ id: number }>(database, "select last_insert_rowid() as id")?.id ?? 0;
  // In the order of the table, whose pages are then written one after the other.
  for (const term of [...part.words.keys()].sort()) {
    const data = bytesOf(Uint32Array.from(part.words.get(term) ?? []));
    change(database, "insert into postings (segment, term, data) values (?, ?, ?)", id, term, data);
  }
}

export function deleteSegment(database: Database, id: number): void {
  change(database, "delete from postings where segment = ?", id);
  change(database, "delete from segments where id = ?", id);
}

export const writeVectors = (
  folder: string,
  collection: string,
  { vectors, count }: GrowingPart,
  dimension: number,
): VectorFile => {
  const file = writeIndexFile(folder, collection, "vectors", (path) => {
    writeFileSync(path, vectors.subarray(0, count * dimension));
  });
  return { ...file, scale: scaleOf(dimension) };
};

export const hasVectors = (folder: string, file: VectorFile, dimension: number): boolean =>
  file.scale === scaleOf(dimension) && hasSize(folder, file);

/** Mapped into memory; Bun cannot do so on Windows. */
export function openVectors(folder: string, { vectors: { file } }: SegmentRow): Int8Array {
  const path = join(folder, file);
  const bytes = platform() === "win32" ? readFileSync(path) : Bun.mmap(path);
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export class Segment extends Part {
  /** As it was when last read. */
  row: SegmentRow;
  /** Vectors that a search of the graph visits, at least. */
  visits = 0;
  readonly #database: Database;
  readonly #folder: string;
  readonly #dimension: number;
  /** Of words that many passages have. */
  readonly #frequencies = new Map<string, number>();
  #matrix: Int8Array | undefined;
  #areVectorsRead = false;
  /** The file of a disk that cannot be written stays. */
  #areVectorsDamaged = false;
  #graph: VectorGraph | undefined;
  /** The file of the graph in use. */
  #used: string | undefined;

  constructor(database: Database, row: SegmentRow, folder: string, dimension: number) {
    const sql = "select keys, lengths from segments where id = ?";
    const blobs = rowOf<{ keys: Uint8Array<ArrayBuffer>; lengths: Uint8Array<ArrayBuffer> }>(
      database,
      sql,
      row.id,
    );
    super(new Float64Array(bufferOf(blobs?.keys)), new Uint16Array(bufferOf(blobs?.lengths)));
    this.row = row;
    this.#database = database;
    this.#folder = folder;
    this.#dimension = dimension;
    this.count = this.keys.length;
    this.live.mask.fill(1);
    this.live.count = this.count;
    this.tokens = this.lengths.reduce((sum, length) => sum + length, 0);
  }

  postings(term: string): Postings | undefined {
    const sql = "select data from postings where segment = ? and term = ?";
    const row = rowOf<{ data: Uint8Array<ArrayBuffer> }>(this.#database, sql, this.row.id, term);
    return row && new Uint32Array(bufferOf(row.data));
  }

  frequency(term: string): number {
    const known = this.#frequencies.get(term);
    if (known !== undefined) return known;
    const sql = "select length(data) / 4 from postings where segment = ? and term = ?";
    const found = numberOf(this.#database, sql, this.row.id, term);
    if (found >= longToFind) this.#frequencies.set(term, found);
    return found;
  }

  nearest(question: Int8Array, count: number, chosen: Chosen): Neighbour[] {
    if (chosen.count === 0) return [];
    const share = chosen.count / this.count;
    if (this.#graph !== undefined && share >= graphShare) {
      const found = this.#graph
        .nearest(question, Math.max(this.visits, Math.ceil((spare * count) / share)))
        .filter(({ place }) => chosen.mask[place] === 1);
      if (found.length >= Math.min(count, chosen.count)) return found.slice(0, count);
    }
    this.#matrix ??= this.#openVectors();
    return scan(this.#matrix, question, count, chosen);
  }

  /** A file that may be damaged: its vectors, which are used until it is read, or a graph, which is not. */
  get unread(): IndexFile | undefined {
    const { vectors, graph } = this.row;
    if (!this.#areVectorsRead) return vectors;
    return this.#used === graph?.file ? undefined : graph;
  }

  /** All of the file was read. Whatever is damaged will be built again. */
  wasRead(file: IndexFile, isWhole: boolean): void {
    if (file.file === this.row.vectors.file) {
      this.#areVectorsRead = true;
      if (isWhole) return;
      this.#areVectorsDamaged = true;
      removeFile(this.#folder, file.file);
      this.#matrix = undefined;
    } else if (isWhole) this.#use(file);
    else this.#discard(file);
  }

  #use(file: IndexFile): void {
    try {
      this.#graph = VectorGraph.view(join(this.#folder, file.file), this.#dimension);
    } catch (error) {
      // On a full disk usearch writes a file without its end, and reports nothing.
      this.#discard(file);
      throw error;
    }
    this.#used = file.file;
    // The graph has vectors of its own. Mapped ones take memory until garbage is collected, and a quiet thread has little.
    this.#matrix = undefined;
    Bun.gc(true);
  }

  #discard(file: IndexFile): void {
    const sql = "update segments set graph = null where graph = ?";
    change(this.#database, sql, JSON.stringify(file));
    removeFile(this.#folder, file.file);
  }

  /** A missing file is read from the rows, which hold everything. */
  #openVectors(): Int8Array {
    const isThere = hasVectors(this.#folder, this.row.vectors, this.#dimension);
    if (isThere && !this.#areVectorsDamaged) {
      return openVectors(this.#folder, this.row);
    }
    const matrix = new Int8Array(this.count * this.#dimension);
    const sql = "select key, vector from passages where key between ? and ?";
    const { first, last } = this.row;
    for (const row of this.#database
      .query<{ key: number; vector: Uint8Array }, number[]>(sql)
      .iterate(first, last)) {
      const place = this.placeOf(row.key);
      if (place === undefined) continue;
      const start = place * this.#dimension;
      quantize(toVector(row.vector), matrix.subarray(start, start + this.#dimension));
    }
    return matrix;
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** SQLite's bytes may be a part of a buffer. */
const bufferOf = (bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0)): ArrayBuffer =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
