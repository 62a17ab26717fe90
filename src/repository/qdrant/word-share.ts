/** How much of a question's words a passage has, from scores that only say which passage has more. */

/**
 * The score of a passage that would have each word as well as the best passage for that word has it.
 * A word that no passage has is rare, and counts as much as the one that counts most.
 */
export function fullScore(bestOfEachTerm: readonly number[]): number {
  const most = Math.max(0, ...bestOfEachTerm);
  return bestOfEachTerm.reduce((sum, best) => sum + (best > 0 ? best : most), 0);
}

export const shareOf = (score: number, full: number): number =>
  full > 0 ? Math.min(1, Math.max(0, score / full)) : 0;
