import { expect, test } from "bun:test";
import { wordsOf } from "../../../../src/store/split-words.ts";
import { GrowingPart } from "../../../../src/store/sqlite/part.ts";
import { searchWords } from "../../../../src/store/sqlite/word-search.ts";

/** The same each time: a test that fails can be repeated. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x8000_0000;
  };
}

/** Rare words are rarer than common ones, as in a language. */
const wordBy = (roll: number): string => `w${Math.floor(150 * roll ** 2)}x`;

function madeTexts(roll: () => number, count: number): string[] {
  return Array.from({ length: count }, () =>
    Array.from({ length: 5 + Math.floor(30 * roll()) }, () => wordBy(roll())).join(" "),
  );
}

/** Several parts, of which some passages are removed. */
function partsOf(texts: readonly string[], removed: ReadonlySet<number>): GrowingPart[] {
  const size = 400;
  const parts: GrowingPart[] = [];
  for (const [at, text] of texts.entries()) {
    if (at % size === 0) parts.push(new GrowingPart(1, size));
    const terms = wordsOf(text).join(" ");
    parts.at(-1)?.add({ key: at + 1, terms, vector: new Uint8Array(4) });
  }
  for (const at of removed) for (const part of parts) part.remove(at + 1);
  return parts;
}

/** BM25 by its definition, over all passages; words of more than a tenth of them do not count. */
function bestByDefinition(texts: ReadonlyMap<number, string[]>, question: string, limit: number) {
  const passages = [...texts];
  const mean = passages.reduce((sum, [, words]) => sum + words.length, 0) / passages.length;
  const weights = new Map<string, number>();
  for (const word of new Set(wordsOf(question))) {
    const count = passages.filter(([, words]) => words.includes(word)).length;
    const weight = Math.log((passages.length - count + 0.5) / (count + 0.5));
    if (count <= 1000 || weight > Math.log(9)) weights.set(word, Math.max(1e-6, weight));
  }
  const scored = passages.map(([key, words]) => {
    let score = 0;
    for (const [word, weight] of weights) {
      const often = words.filter((one) => one === word).length;
      score += (weight * often * 2.2) / (often + 1.2 * (0.25 + (0.75 * words.length) / mean));
    }
    return { key, score };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score || one.key - other.key)
    .slice(0, limit);
}

test("the best passages are those of BM25 by its definition, in any number of parts", () => {
  const roll = dice(7);
  const texts = madeTexts(roll, 2500);
  const removed = new Set(Array.from({ length: 150 }, () => Math.floor(2500 * roll())));
  const parts = partsOf(texts, removed);
  const left = new Map(
    texts.flatMap((text, at) => (removed.has(at) ? [] : [[at + 1, wordsOf(text)] as const])),
  );
  for (let asked = 0; asked < 27; asked++) {
    const question = Array.from({ length: 1 + (asked % 14) }, () => wordBy(roll())).join(" ");
    const best = bestByDefinition(left, question, 10);
    const found = searchWords(parts, question, 10);
    expect(found.map(({ key }) => key)).toEqual(best.map(({ key }) => key));
  }
});

test("a part keeps no trace of the question before", () => {
  const parts = partsOf(madeTexts(dice(3), 3000), new Set());
  const first = searchWords(parts, "w140x w90x w30x", 5);
  searchWords(parts, "w120x w100x w40x w20x", 5);
  expect(searchWords(parts, "w140x w90x w30x", 5)).toEqual(first);
});

test("a passage that has how a question is asked is not taken for one that has what is asked", () => {
  const texts = ["How do I do it, and what do I do?", "Raise the quota of a key."];
  const parts = partsOf([...texts, ...madeTexts(dice(5), 50)], new Set());
  const found = searchWords(parts, "How do I raise the quota?", 5);
  expect(found.map(({ key }) => key)).toEqual([2]);
});

test("of a long question, words after the four rarest count half", () => {
  const others = Array.from({ length: 60 }, (_, at) => `o${at}a o${at}b o${at}c o${at}d`);
  const parts = partsOf(["north south east west", "up down left right", ...others], new Set());
  const shareOf = (question: string): number => searchWords(parts, question, 1)[0]?.words ?? 0;
  const four = shareOf("north south east west");
  expect(shareOf("north south east west up down left right")).toBeCloseTo((four * 4) / 6);
  expect(shareOf("north south up down")).toBeCloseTo(four / 2);
});
