/** Texts as sparse vectors of their words, so that a server that weighs by rarity scores as BM25 does. */
import { wordsOf } from "../words.ts";

export interface SparseWords {
  indices: number[];
  values: number[];
}

/** How soon a word's repetitions stop counting. */
const saturation = 1.2;
/** How much a long passage's words count less. */
const lengthShare = 0.75;
/**
 * The words of an average passage. BM25 takes the collection's own average, which is not known when
 * a passage is stored; a wrong guess scales all scores nearly alike.
 */
const averageLength = 150;
/** Each is a search of its own; a longer question is a document, and its start says what it is about. */
const mostTerms = 32;

/** What a stored passage's words weigh: BM25's part of the term, without its rarity. */
export function wordWeights(text: string): SparseWords {
  const words = wordsOf(text);
  const counts = new Map<number, number>();
  for (const word of words) {
    const index = indexOf(word);
    counts.set(index, (counts.get(index) ?? 0) + 1);
  }
  const norm = saturation * (1 - lengthShare + (lengthShare * words.length) / averageLength);
  return {
    indices: [...counts.keys()],
    values: [...counts.values()].map((count) => (count * (saturation + 1)) / (count + norm)),
  };
}

/** A question's distinct words, in order. */
export function questionTerms(text: string): number[] {
  const terms = new Set<number>();
  for (const word of wordsOf(text)) {
    terms.add(indexOf(word));
    if (terms.size === mostTerms) break;
  }
  return [...terms];
}

export const askFor = (terms: readonly number[]): SparseWords => ({
  indices: [...terms],
  values: terms.map(() => 1),
});

/** Two words with the same index among a collection's some hundred thousand are rare, and harm little. */
const indexOf = (word: string): number => Bun.hash.xxHash32(word);
