/** What a thread knows of a collection to answer questions: its segments, and in memory the passages that no segment has yet. Follows the file, whichever process changes it. */
import type { Database } from "bun:sqlite";
import type { SearchBounds } from "../../core/ports/passage-repository.ts";
import { numberOf, rowsOf } from "../database.ts";
import type { DocumentNames } from "../document-names.ts";
import { hasSegments } from "./collection-tables.ts";
import type { IndexFile } from "./index-file.ts";
import { type Chosen, GrowingPart, type Part, type PartRow } from "./part.ts";
import { lastSegmentKey, Segment, segmentRows } from "./segment.ts";
import { type Candidate, nearestRows } from "./vector-search.ts";
import { searchWords, type WordHit } from "./word-search.ts";

/** Passages of a part in memory: memory is set aside for so many. */
const smallPart = 2048;
/** Vectors that the graphs of a collection visit together, and a single one at most: more give better recall, and take longer. */
const effort = 448;
const mostVisits = 384;
/** Choices of documents that are remembered, since the same are asked for again. */
const mostChoices = 8;

/** The passages of chosen documents. */
export interface DocumentChoice {
  of(part: Part): Chosen;
}

/** What is searched for: only that is read into memory. */
export type Finds = "vectors" | "words";

interface SearchOptions {
  dimension: number;
  folder: string | undefined;
  /** Undefined: both. */
  finds: Finds | undefined;
}

export class CollectionSearch {
  readonly #database: Database;
  readonly #dimension: number;
  /** Where segments have their files; undefined: there are none. */
  readonly #folder: string | undefined;
  readonly #finds: Finds | undefined;
  #segments: Segment[] = [];
  #recent: GrowingPart[] = [];
  /** All passages up to `sealed` are in segments, and those up to `read` in a part. */
  #sealed = 0;
  #read = 0;
  #lastRemoval = 0;
  #state = "";
  readonly #choices = new Map<string, DocumentChoice>();

  constructor(database: Database, { dimension, folder, finds }: SearchOptions) {
    this.#database = database;
    this.#dimension = dimension;
    this.#folder = folder;
    this.#finds = finds;
  }

  nearest(vector: Float32Array, bounds: SearchBounds, documents?: DocumentNames): Candidate[] {
    const parts = this.#parts();
    return nearestRows(this.#database, parts, vector, bounds, this.#choose(documents));
  }

  words(text: string, limit: number, documents?: DocumentNames): WordHit[] {
    return searchWords(this.#parts(), text, limit, this.#choose(documents));
  }

  /** A file of a segment that may be damaged, if there is one. */
  unread(): IndexFile | undefined {
    this.#follow();
    return this.#segments.find(({ unread }) => unread !== undefined)?.unread;
  }

  wasRead(file: IndexFile, isWhole: boolean): void {
    const segment = this.#segments.find(({ unread }) => unread?.file === file.file);
    segment?.wasRead(file, isWhole);
  }

  #parts(): readonly Part[] {
    this.#follow();
    return [...this.#segments, ...this.#recent];
  }

  #follow(): void {
    const sql = "select data_version || ' ' || total_changes() as state from pragma_data_version";
    const state = rowsOf<{ state: string }>(this.#database, sql)[0]?.state ?? "";
    if (state === this.#state) return;
    this.#choices.clear();
    // What is read now lacks all that was removed before.
    const removals = numberOf(this.#database, "select max(seq) from removed");
    if (this.#state === "") this.#lastRemoval = removals;
    this.#followSegments();
    this.#readRows();
    this.#followRemovals();
    this.#state = state;
  }

  #followSegments(): void {
    const folder = this.#folder;
    if (folder === undefined || !hasSegments(this.#database)) return;
    const rows = segmentRows(this.#database);
    const known = new Map(this.#segments.map((segment) => [segment.row.id, segment]));
    this.#segments = rows.map((row) => {
      const segment = known.get(row.id) ?? this.#load(row, folder);
      segment.row = row;
      return segment;
    });
    const visits = Math.min(mostVisits, Math.ceil(effort / Math.max(1, rows.length)));
    for (const segment of this.#segments) segment.visits = visits;
    const sealed = lastSegmentKey(rows);
    if (sealed === this.#sealed) return;
    if (sealed < this.#sealed) {
      this.#recent = [];
      this.#read = sealed;
    }
    this.#sealed = sealed;
    this.#read = Math.max(this.#read, sealed);
    this.#recent = this.#recent.filter((part) => part.lastKey > sealed);
    for (const part of this.#recent) part.removeUpTo(sealed);
  }

  #load(row: Segment["row"], folder: string): Segment {
    const segment = new Segment(this.#database, row, folder, this.#dimension);
    const sql = "select key from removed where key between ? and ?";
    const removed = rowsOf<{ key: number }>(this.#database, sql, row.first, row.last);
    for (const { key } of removed) segment.remove(key);
    return segment;
  }

  #readRows(): void {
    const hasTerms = this.#finds !== "vectors" && hasSegments(this.#database);
    const hasVectors = this.#finds !== "words";
    const columns = `${hasTerms ? "terms" : "null as terms"}, ${hasVectors ? "vector" : "null as vector"}`;
    const sql = `select key, ${columns} from passages where key > ? order by key`;
    const rows = this.#database.query<PartRow, [number]>(sql).iterate(this.#read);
    for (const row of rows) {
      let part = this.#recent.at(-1);
      if (part === undefined || part.isFull) {
        part = new GrowingPart(hasVectors ? this.#dimension : 0, smallPart);
        this.#recent.push(part);
      }
      part.add(row);
      this.#read = row.key;
    }
  }

  #followRemovals(): void {
    const sql = "select seq, key from removed where seq > ? order by seq";
    const removed = rowsOf<{ seq: number; key: number }>(this.#database, sql, this.#lastRemoval);
    for (const { key } of removed) this.#partWith(key)?.remove(key);
    this.#lastRemoval = removed.at(-1)?.seq ?? this.#lastRemoval;
    // Where most were removed again, the rest is read again.
    const all = this.#recent.reduce((sum, { count }) => sum + count, 0);
    const live = this.#recent.reduce((sum, part) => sum + part.live.count, 0);
    if (all <= 2 * live + 2 * smallPart) return;
    this.#recent = [];
    this.#read = this.#sealed;
    this.#readRows();
  }

  #partWith(key: number): Part | undefined {
    const parts: Part[] = key > this.#sealed ? this.#recent : this.#segments;
    let [from, to] = [0, parts.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((parts[middle]?.lastKey ?? 0) < key) from = middle + 1;
      else to = middle;
    }
    return parts[from];
  }

  #choose(documents: DocumentNames | undefined): DocumentChoice | undefined {
    if (documents === undefined) return undefined;
    const { isOnly, names } = documents;
    const wanted = `${isOnly} ${names}`;
    const known = this.#choices.get(wanted);
    if (known !== undefined) return known;
    const choice = this.#chosen(isOnly, names);
    const [oldest] = this.#choices.keys();
    if (this.#choices.size >= mostChoices && oldest !== undefined) this.#choices.delete(oldest);
    this.#choices.set(wanted, choice);
    return choice;
  }

  #chosen(isOnly: boolean, names: string): DocumentChoice {
    const masks = new Map<Part, Chosen>();
    const maskOf = (part: Part): Chosen => {
      const made = masks.get(part) ?? {
        mask: isOnly ? new Uint8Array(part.keys.length) : part.live.mask.slice(),
        count: isOnly ? 0 : part.live.count,
      };
      masks.set(part, made);
      return made;
    };
    const sql =
      "select key from passages where document in (select value from json_each(?)) order by document, key";
    const bit = Number(isOnly);
    let part: Part | undefined;
    for (const [key] of this.#database.query<unknown, [string]>(sql).values(names)) {
      if (typeof key !== "number") continue;
      // A document's passages are usually neighbours. What a segment has by now is dead in the part that had it before.
      let place = part?.placeOf(key);
      if (place === undefined || part?.live.mask[place] === 0) {
        part = this.#partWith(key);
        place = part?.placeOf(key);
      }
      if (part === undefined || place === undefined || part.live.mask[place] === 0) continue;
      const chosen = maskOf(part);
      if (chosen.mask[place] === bit) continue;
      chosen.mask[place] = bit;
      chosen.count += isOnly ? 1 : -1;
    }
    return { of: maskOf };
  }
}
