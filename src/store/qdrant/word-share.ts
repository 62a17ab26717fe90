/** Scales BM25 scores, which only rank passages, to the share of the question's words that a passage has. */

/**
 * The score of a passage that would have each word as well as the best passage for that word has it.
 * A word that no passage has is rare, and counts as much as the one that counts most. It is never
 * less than what one rare word gives: a question of common words alone is not answered in full by a
 * passage that has them.
 */
export function fullScore(bestOfEachTerm: readonly number[], passages: number): number {
  const most = Math.max(0, ...bestOfEachTerm);
  const sum = bestOfEachTerm.reduce((total, best) => total + (best > 0 ? best : most), 0);
  return Math.max(sum, rarity(passages));
}

/** As the server weighs a word that one passage has. */
const rarity = (passages: number): number => Math.log(1 + (passages - 0.5) / 1.5);

export const shareOf = (score: number, full: number): number =>
  full > 0 ? Math.min(1, Math.max(0, score / full)) : 0;
