/** One score from vectors and words. */
import type { ScoredPassage, WordMatch } from "../ports/passage-repository.ts";

/**
 * How far a passage that has all of the question's words is raised towards 1. It is what served
 * best of 0.2 to 1 (see bench/README.md), and flat around it.
 */
const wordWeight = 0.7;

/**
 * The passages found either way in descending score: the cosine, raised towards 1 by the words. It
 * is never under the cosine, so a threshold lets through what it would without words.
 */
export function fuse(
  near: readonly ScoredPassage[],
  matched: readonly WordMatch[],
): ScoredPassage[] {
  const found = new Map(near.map((passage) => [passage.id, passage]));
  for (const { words, ...passage } of matched) {
    const score = passage.score + wordWeight * words * (1 - passage.score);
    found.set(passage.id, { ...passage, score });
  }
  return [...found.values()].sort((a, b) => b.score - a.score);
}
