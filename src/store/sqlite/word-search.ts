/** Full-text search over passages; the score is the share of the question's words that a passage has. */
import type { Database } from "bun:sqlite";
import type { DocumentSelection } from "../../core/ports/passage-repository.ts";
import { numberOf, rowsOf } from "../database.ts";
import { wordsOf } from "../words.ts";
import { countPassages } from "./collection-file.ts";

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
