import { describe, expect, test } from "bun:test";
import { questionWordsOf, wordsOf } from "../../../src/store/split-words.ts";

describe("the words of a text", () => {
  test.each([
    ["Llamas, running!", ["llama", "run"]],
    ["Müller's ÉCOLE", ["muller", "s", "ecol"]],
    ["ﬁne ① ２０２４", ["fine", "1", "2024"]],
    ["GPT4 v1.2", ["gpt4", "v1", "2"]],
    ["Лама и лошадь", ["лама", "и", "лошадь"]],
    ["İstanbul", ["istanbul"]],
    ["كِتَاب", ["كتاب"]],
    ["한국어 문장", ["한국어", "문장"]],
    ["", []],
    ["?! — *", []],
  ])("%p are %p", (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  test.each([
    ["人工智能。", ["人工", "工智", "智能"]],
    ["茶", ["茶"]],
    ["がっこう", ["がっ", "っこ", "こう"]],
    ["データベース", ["デー", "ータ", "タベ", "ベー", "ース"]],
    ["ｶﾞｲﾄﾞ", ["ガイ", "イド"]],
    ["用GPT4写作", ["用", "gpt4", "写作"]],
    ["𠀀𠀁𠀂", ["𠀀𠀁", "𠀁𠀂"]],
    ["ภาษา", ["ภาษ", "าษา"]],
    ["น้ำ", ["น้ํ", "้ํา"]],
    ["ไป กิน", ["ไป", "กิน"]],
  ])("of a script without spaces are its neighbouring letters: %p", (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  test("are letters and digits alone, which no search takes for anything else", () => {
    for (const word of wordsOf('a"b* NOT(c) 图"书馆 é-ü ^x:y')) {
      expect(word).toMatch(/^[\p{L}\p{N}\p{M}]+$/u);
    }
  });
});

describe("the words of a question", () => {
  test.each([
    ["How do I stop the node?", ["stop", "node"]],
    ["What is GPT4's price?", ["gpt4", "s", "price"]],
    ["Wie heißt der Knoten?", ["wie", "heißt", "der", "knoten"]],
    ["什么是人工智能？", ["什么", "么是", "是人", "人工", "工智", "智能"]],
  ])("are those that say what is asked for: %p, %p", (text, words) => {
    expect(questionWordsOf(text)).toEqual(words);
  });

  test("are all of them if it has no others", () => {
    expect(questionWordsOf("Who are you?")).toEqual(["who", "ar", "you"]);
  });
});
