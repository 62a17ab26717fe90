/** Full-text search over the passages, with a score that says how much of the question a passage has. */
import type { Database } from "bun:sqlite";
import { stemmer } from "stemmer";

export interface WordHit {
  key: number;
  /** 0 to 1. */
  words: number;
}

interface Term {
  text: string;
  /** How many passages have it. */
  count: number;
  /** How much it tells, as SQLite's bm25 weighs it. */
  weight: number;
}

/** A longer question is a document of its own; its first words say what it is about. */
const mostTerms = 64;
/** A word that more passages than this have tells little, and is dear to look up. */
const commonShare = 0.1;
const commonCount = 1000;
/** The most that bm25 lets a term's frequency count: k1 + 1. */
const saturation = 2.2;

/** The passages that match best, best first. */
export function searchWords(database: Database, text: string, limit: number): WordHit[] {
  const terms = tellingTerms(termsOf(database, text));
  const most = terms.reduce((sum, { weight }) => sum + weight * saturation, 0);
  const known = terms.filter(({ count }) => count > 0);
  if (known.length === 0) return [];
  return database
    .query<{ key: number; score: number }, [string, number]>(
      "select rowid as key, -bm25(words) as score from words where words match ? order by rank limit ?",
    )
    .all(known.map((term) => `"${term.text}"`).join(" OR "), limit)
    .map(({ key, score }) => ({ key, words: Math.min(1, Math.max(0, score / most)) }));
}

function termsOf(database: Database, text: string): Term[] {
  const total =
    database.query<{ count: number }, []>("select count(*) as count from passages").get()?.count ??
    0;
  const countOf = database.query<{ doc: number }, [string]>(
    "select doc from word_counts where term = ?",
  );
  const words = new Set(
    (text.match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, mostTerms).map((word) => word.toLowerCase()),
  );
  return [...words].map((word) => {
    const count = countOf.get(stemmed(word))?.doc ?? 0;
    const weight = Math.max(1e-6, Math.log((total - count + 0.5) / (count + 0.5)));
    return { text: word, count, weight };
  });
}

/** Leaves common words out where there are others. */
function tellingTerms(terms: readonly Term[]): readonly Term[] {
  const total = terms.length;
  if (total === 0) return terms;
  const telling = terms.filter(({ count, weight }) => count <= commonCount || weight > rareWeight);
  return telling.some(({ count }) => count > 0) ? telling : terms;
}

const rareWeight = Math.log((1 - commonShare) / commonShare);

/** As the full-text index stores it. */
const stemmed = (word: string): string => stemmer(word.normalize("NFD").replace(/\p{M}/gu, ""));
