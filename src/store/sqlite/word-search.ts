/** Ranks passages by the words of a question: BM25 over the postings of every part. */

import { questionWordsOf } from "../split-words.ts";
import type { DocumentChoice } from "./collection-search.ts";
import type { Part, Postings } from "./part.ts";

export interface WordHit {
  key: number;
  /** 0 to 1. */
  words: number;
}

interface Term {
  /** Where it occurs, by part. */
  postings: (Postings | undefined)[];
  count: number;
  weight: number;
}

/** The first words of a longer question are enough to know its topic. */
const mostTerms = 64;
/** Of a full match: no passage has all words of a long question, and each after these counts half. */
const fullTerms = 4;
/** A word in more passages than this says little, and there are many postings to read. */
const commonShare = 0.1;
const commonCount = 1000;
/** How much a repeated word counts, and a passage's length. */
const k1 = 1.2;
const b = 0.75;
/** The most that a term's frequency counts. */
const saturation = k1 + 1;

/** The best matches, best first; none if they share only common words with the question. */
export function searchWords(
  parts: readonly Part[],
  text: string,
  limit: number,
  choice?: DocumentChoice,
): WordHit[] {
  const total = parts.reduce((sum, { live }) => sum + live.count, 0);
  const words = [...new Set(questionWordsOf(text).slice(0, mostTerms))];
  const removed = parts.reduce((sum, { count, live }) => sum + count - live.count, 0);
  const terms = words
    .filter((word) => {
      // A common word is known by its number, and its many postings are not read.
      const least = parts.reduce((sum, part) => sum + part.frequency(word), -removed);
      return isTelling({ count: least, weight: weightOf(Math.max(0, least), total) });
    })
    .map((word) => termOf(parts, word, total))
    .filter(isTelling)
    .sort((one, other) => other.weight - one.weight);
  if (total === 0 || limit <= 0 || terms.every(({ count }) => count === 0)) return [];
  // Common words alone do not give a full match.
  const sum = terms.reduce((all, { weight }, at) => all + (at < fullTerms ? 1 : 0.5) * weight, 0);
  const most = saturation * Math.max(sum, weightOf(1, total));
  const mean = parts.reduce((tokens, part) => tokens + part.tokens, 0) / total;
  const best = new BestHits(limit);
  for (const [at, part] of parts.entries()) scorePart(part, at, terms, mean, best, choice);
  return best.sorted().map(({ key, score }) => ({ key, words: Math.min(1, score / most) }));
}

function termOf(parts: readonly Part[], word: string, total: number): Term {
  const postings = parts.map((part) => part.postings(word));
  const count = parts.reduce((sum, part, at) => sum + countLive(part, postings[at]), 0);
  return { postings, count, weight: weightOf(count, total) };
}

/** Removed passages stay in the postings until their segment is rebuilt. */
function countLive({ live, count }: Part, postings: Postings = []): number {
  if (live.count === count) return postings.length;
  let found = 0;
  for (let index = 0; index < postings.length; index++) {
    found += live.mask[(postings[index] ?? 0) >>> 8] ?? 0;
  }
  return found;
}

const weightOf = (count: number, total: number): number =>
  Math.max(1e-6, Math.log((total - count + 0.5) / (count + 0.5)));

/** Whether a word is informative: few passages have it, or only a small share of them. */
const isTelling = ({ count, weight }: Pick<Term, "count" | "weight">): boolean =>
  count <= commonCount || weight > rareWeight;

const rareWeight = Math.log((1 - commonShare) / commonShare);

/** With fewer places than this part of a word's postings, each place is searched in them. */
const worthASearch = 16;

/** Used by one search at a time, and all zero in between. */
let scores = new Float64Array(0);
let touched = new Uint32Array(0);

function scorePart(
  part: Part,
  at: number,
  terms: readonly Term[],
  mean: number,
  best: BestHits,
  choice: DocumentChoice | undefined,
): void {
  const { lengths, keys } = part;
  const { mask } = choice?.of(part) ?? part.live;
  const [flat, slope] = [k1 * (1 - b), (k1 * b) / mean];
  if (scores.length < part.count) {
    scores = new Float64Array(part.count);
    touched = new Uint32Array(part.count);
  }
  let count = 0;
  /** What this word and those after it give at most. */
  let most = terms.reduce((sum, { weight }) => sum + weight * saturation, 0);
  for (const { postings, weight } of terms) {
    const some = postings[at] ?? [];
    const top = weight * saturation;
    // Only passages that the rarer words before found can be among the best, and not all of them.
    const isFound = most < best.least;
    if (isFound) count = keepHopeful(count, best.least - most);
    most -= top;
    if (isFound && count * worthASearch < some.length) {
      for (let index = 0; index < count; index++) {
        const place = touched[index] ?? 0;
        const often = oftenAt(some, place);
        const gain = (top * often) / (often + flat + slope * (lengths[place] ?? 0));
        scores[place] = (scores[place] ?? 0) + gain;
      }
      continue;
    }
    for (let index = 0; index < some.length; index++) {
      const posting = some[index] ?? 0;
      const place = posting >>> 8;
      const often = posting & 0xff;
      const score = scores[place] ?? 0;
      if (score === 0) {
        if (isFound) continue;
        touched[count++] = place;
      }
      scores[place] = score + (top * often) / (often + flat + slope * (lengths[place] ?? 0));
    }
  }
  for (let index = 0; index < count; index++) {
    const place = touched[index] ?? 0;
    const score = scores[place] ?? 0;
    scores[place] = 0;
    if (score >= best.least && mask[place] === 1) best.offer(keys[place] ?? 0, score);
  }
}

/** Forgets touched places with a lower score; returns how many are left. */
function keepHopeful(count: number, least: number): number {
  let left = 0;
  for (let index = 0; index < count; index++) {
    const place = touched[index] ?? 0;
    if ((scores[place] ?? 0) < least) scores[place] = 0;
    else touched[left++] = place;
  }
  return left;
}

/** How often the passage at a place has the word; 0 if it lacks it. Postings are in the order of places. */
function oftenAt(postings: Postings, place: number): number {
  let [from, to] = [0, postings.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((postings[middle] ?? 0) >>> 8 < place) from = middle + 1;
    else to = middle;
  }
  const posting = postings[from] ?? 0;
  return from < postings.length && posting >>> 8 === place ? posting & 0xff : 0;
}

interface Hit {
  key: number;
  score: number;
}

const byScore = (one: Hit, other: Hit): number => other.score - one.score || one.key - other.key;

/** The best `limit` hits of those offered. */
class BestHits {
  /** A lower score cannot be among them. */
  least = Number.NEGATIVE_INFINITY;
  readonly #limit: number;
  #hits: Hit[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  offer(key: number, score: number): void {
    this.#hits.push({ key, score });
    if (this.#hits.length < 2 * this.#limit + 64) return;
    this.#hits = this.sorted();
    this.least = this.#hits.at(-1)?.score ?? this.least;
  }

  sorted(): Hit[] {
    return this.#hits.sort(byScore).slice(0, this.#limit);
  }
}
