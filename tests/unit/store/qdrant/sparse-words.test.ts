import { describe, expect, test } from "bun:test";
import { questionTerms, wordWeights } from "../../../../src/store/qdrant/sparse-words.ts";
import { fullScore, shareOf } from "../../../../src/store/qdrant/word-share.ts";

describe("a passage's words as a sparse vector", () => {
  test("has each word once, repeated ones weighing more, but less each time", () => {
    const { indices, values } = wordWeights("llama llama llama horse horse dog");
    expect(new Set(indices).size).toBe(3);
    const [llama = 0, horse = 0, dog = 0] = values;
    expect(llama).toBeGreaterThan(horse);
    expect(horse).toBeGreaterThan(dog);
    expect(llama - horse).toBeLessThan(horse - dog);
    expect(llama).toBeLessThan(2.2);
  });

  test("weighs a word of a passage of average length as BM25 does, once there: 1", () => {
    const words = Array.from({ length: 150 }, (_, at) => `w${at}`).join(" ");
    expect(wordWeights(words).values[0]).toBeCloseTo(1, 10);
    expect(wordWeights(`${words} ${words}x`).values[149]).toBeLessThan(1);
  });

  test("has the indices that a question asks for", () => {
    expect(questionTerms("The Llamas")).toEqual(wordWeights("the llama").indices);
    for (const index of questionTerms("some words more")) {
      expect(Number.isInteger(index) && index >= 0 && index < 2 ** 32).toBe(true);
    }
  });

  test("is empty without words", () => {
    expect(wordWeights("?!")).toEqual({ indices: [], values: [] });
  });
});

describe("a question", () => {
  test("asks for each word once, and for the first 32", () => {
    expect(questionTerms("llama Llama llamas")).toHaveLength(1);
    const long = Array.from({ length: 100 }, (_, at) => `w${at}`).join(" ");
    expect(questionTerms(long)).toEqual(questionTerms(long.slice(0, long.indexOf(" w32"))));
    expect(questionTerms(long)).toHaveLength(32);
  });

  test("counts a word that no passage has as much as the rarest that one has", () => {
    expect(fullScore([3, 1], 10)).toBe(4);
    expect(fullScore([3, 1, 0], 10)).toBe(7);
  });

  test("is not had in full by a passage that has its words, where all are common", () => {
    expect(fullScore([0.1, 0.1], 1000)).toBeCloseTo(Math.log(1 + 999.5 / 1.5), 5);
  });

  test("is had by a passage to a share between nothing and all", () => {
    expect(shareOf(2, 4)).toBe(0.5);
    expect(shareOf(4.1, 4)).toBe(1);
    expect(shareOf(1, 0)).toBe(0);
  });
});
