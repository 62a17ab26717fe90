/** Searches a collection in SQLite: the nearest passages, ranked by their own vectors, and those with the words of a question, ranked by BM25. */
import type { Database } from "bun:sqlite";
import { dot } from "../../core/embedding/embedding-service.ts";
import type { DocumentSelection, SearchBounds } from "../../core/ports/passage-repository.ts";
import { numberOf, rowsOf } from "../database.ts";
import { wordsOf } from "../split-words.ts";
import { countPassages, toVector, turn } from "./collection-file.ts";
import type { VectorIndex } from "./vector-index.ts";

interface Row {
  key: number;
  document: string;
  vector: Uint8Array;
}

export interface Candidate {
  key: number;
  score: number;
}

/** Rows compared before yielding to the event loop: a few milliseconds. */
const scanPage = 2048;
/** Most rows of selected documents that are compared one by one: about as fast as the index with a selection. */
const fewRows = 20_000;
/** Most neighbours to request; if too few of them are selected, all rows are compared. */
const mostNeighbours = 4096;

/** In descending score. A selection does not reduce the number of results, if there are enough rows. */
export async function nearestRows(
  database: Database,
  index: VectorIndex,
  vector: Float32Array,
  { limit, scoreThreshold }: SearchBounds,
  documents?: DocumentSelection,
): Promise<readonly Candidate[]> {
  let best: Candidate[] = [];
  const offer = (rows: readonly Row[]): void => {
    const worst = best[limit - 1]?.score ?? Number.NEGATIVE_INFINITY;
    const better = rows
      .map((row) => scored(vector, row))
      .filter(({ score }) => score >= scoreThreshold && score > worst);
    best = [...best, ...better].sort((a, b) => b.score - a.score).slice(0, limit);
  };
  const few = documents && "only" in documents ? keysOf(database, documents.only) : undefined;
  if (few !== undefined) {
    for (let start = 0; start < few.length; start += scanPage) {
      if (start > 0) await turn();
      offer(rowsWith(database, few.slice(start, start + scanPage)));
    }
    return best;
  }
  const isChosen = chooserOf(documents);
  // More than needed: the index is approximate, and the rows' own vectors decide.
  const wanted = 16 + 3 * limit;
  let last = 0;
  for (let count = wanted; ; count *= 4) {
    const { keys, lastKey } = await index.nearest(vector, count);
    const rows = rowsWith(database, keys);
    const chosen = rows.filter(isChosen);
    const isEnough = chosen.length === rows.length || chosen.length >= wanted;
    if (isEnough) {
      offer(chosen);
      last = lastKey;
    }
    if (isEnough || keys.length < count || count >= mostNeighbours) break;
  }
  const sql = `select key, document, vector from passages where key > ? order by key limit ${scanPage}`;
  for (; ; await turn()) {
    const rows = rowsOf<Row>(database, sql, last);
    offer(rows.filter(isChosen));
    const end = rows.at(-1);
    if (end === undefined || rows.length < scanPage) return best;
    last = end.key;
  }
}

export const scoreRows = (
  database: Database,
  vector: Float32Array,
  keys: readonly number[],
): Candidate[] => rowsWith(database, keys).map((row) => scored(vector, row));

/** Undefined if there are too many. */
function keysOf(database: Database, documents: ReadonlySet<string>): number[] | undefined {
  const rows = rowsOf<{ key: number }>(
    database,
    "select key from passages where document in (select value from json_each(?)) limit ?",
    ...[JSON.stringify([...documents]), fewRows + 1],
  );
  return rows.length > fewRows ? undefined : rows.map(({ key }) => key);
}

function rowsWith(database: Database, keys: readonly number[]): Row[] {
  const sql =
    "select key, document, vector from passages where key in (select value from json_each(?))";
  return rowsOf(database, sql, JSON.stringify(keys));
}

/** The cosine, since vectors have unit length; clamped against rounding. */
const scored = (vector: Float32Array, { key, vector: bytes }: Row): Candidate => ({
  key,
  score: Math.min(1, Math.max(-1, dot(vector, toVector(bytes)))),
});

function chooserOf(documents: DocumentSelection | undefined): (row: Row) => boolean {
  if (documents === undefined) return () => true;
  if ("only" in documents) return ({ document }) => documents.only.has(document);
  return ({ document }) => !documents.except.has(document);
}

export interface WordHit {
  key: number;
  /** 0 to 1. */
  words: number;
}

interface Term {
  text: string;
  count: number;
  weight: number;
}

/** The first words of a longer question are enough to know its topic. */
const mostTerms = 64;
/** A word in more passages than this says little, and is slow to look up. */
const commonShare = 0.1;
const commonCount = 1000;
/** The most that a term's frequency counts in bm25: k1 + 1. */
const saturation = 2.2;

/** The best matches, best first; none if they share only common words with the question. */
export function searchWords(
  database: Database,
  text: string,
  limit: number,
  documents: DocumentSelection = { except: new Set() },
): WordHit[] {
  const total = countPassages(database);
  const terms = termsOf(database, text, total).filter(isTelling);
  const known = terms.filter(({ count }) => count > 0);
  if (known.length === 0) return [];
  // Common words alone do not give a full match.
  const sum = terms.reduce((weights, { weight }) => weights + weight, 0);
  const most = saturation * Math.max(sum, weightOf(1, total));
  const [isAmong, named] =
    "only" in documents ? ["in", documents.only] : ["not in", documents.except];
  const restriction =
    "only" in documents || named.size > 0
      ? `and rowid ${isAmong} (select key from passages where document in (select value from json_each(?2)))`
      : "and ?2 is not null";
  const hits = rowsOf<{ key: number; score: number }>(
    database,
    `select rowid as key, -bm25(words) as score from words
     where words match ?1 ${restriction} order by rank limit ?3`,
    known.map((term) => `"${term.text}"`).join(" OR "),
    ...[JSON.stringify([...named]), limit],
  );
  return hits.map(({ key, score }) => ({ key, words: Math.min(1, Math.max(0, score / most)) }));
}

function termsOf(database: Database, text: string, total: number): Term[] {
  return [...new Set(wordsOf(text).slice(0, mostTerms))].map((word) => {
    const count = numberOf(database, "select doc from word_counts where term = ?", word);
    return { text: word, count, weight: weightOf(count, total) };
  });
}

/** A term's weight in SQLite's bm25. */
const weightOf = (count: number, total: number): number =>
  Math.max(1e-6, Math.log((total - count + 0.5) / (count + 0.5)));

/** Whether a word is informative: few passages have it, or only a small share of them. */
const isTelling = ({ count, weight }: Term): boolean => count <= commonCount || weight > rareWeight;

const rareWeight = Math.log((1 - commonShare) / commonShare);
