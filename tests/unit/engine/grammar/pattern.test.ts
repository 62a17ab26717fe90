import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { OverBudget } from "../../../../src/engine/grammar/limits.ts";
import { patternGrammar, UnsupportedPattern } from "../../../../src/engine/grammar/pattern.ts";
import { GrammarRules } from "../../../../src/engine/grammar/rules.ts";
import { GbnfMachine } from "./gbnf-machine.ts";

/** The pattern's grammar, for the inside of a JSON string. */
function grammarOf(pattern: string): GbnfMachine {
  const rules = new GrammarRules();
  const root = patternGrammar(pattern, rules);
  return new GbnfMachine(rules.toString(root));
}

/** Whether the inside of a JSON string is a sentence of the pattern's grammar. */
const takes = (pattern: string, text: string): boolean =>
  grammarOf(pattern).accepts(JSON.stringify(text).slice(1, -1));

const supported = [
  "^abc$",
  "^a.c$",
  "^[a-f0-9]{4}$",
  "^[A-Z][a-z]*$",
  "^(foo|bar)+$",
  "^(?:ab){2,3}c?$",
  "^\\d{3}-\\d{4}$",
  "^\\w+@\\w+\\.com$",
  "^a\\sb$",
  "^[^abc]{2}$",
  "^[^\\d]$",
  "^[\\w.-]+$",
  "^[a\\-z]$",
  "^[a\\]b]$",
  "^[+-]?[0-9]$",
  "^\\(\\)\\[\\]\\{\\}\\^\\$\\.\\*\\+\\?\\|$",
  '^"quoted"$',
  "^back\\\\slash$",
  "^a/b\\/c$",
  "^$",
  "^(a|)$",
  "^x{0,2}$",
  "^x{2,}$",
  "^[ä-ü]é☃😀$",
  "cat",
  "^cat",
  "cat$",
  "price: \\$$",
  "a|b",
];

/** Classes in which JSON's own characters, or GBNF's, need care. */
const careful = [
  "^[ -~]{3}$",
  "^[!-~]{3}$",
  "^[A-z]{3}$",
  '^[ -"]$',
  "^[\\^a]{2}$",
  "^[^a-]{2}$",
  "^[^\\w-]{2}$",
  "^[\t ]{3}$",
  "^[a^]{2}$",
  "^[\\[x]{2}$",
  "^[-a]{2}$",
];

describe("the grammar of a pattern", () => {
  test.each(supported)("writes only JSON strings that match it: %s", (pattern) => {
    expectToHold(pattern, grammarOf(pattern));
  });

  test.each(careful)("writes only JSON strings that match it, or is refused: %s", (pattern) => {
    const grammar = grammarOrRefusal(pattern);
    if (grammar !== undefined) expectToHold(pattern, grammar);
  });

  test.each([
    ["^a.c$", ["abc", "aéc", "a😀c"], ["ac", "abbc", "a\nc"]],
    ["^[a-f0-9]{4}$", ["00ff"], ["00fg", "00f", "00fff"]],
    ["^(foo|bar)+$", ["foo", "barfoo"], ["", "fo"]],
    ["^(?:ab){2,3}c?$", ["abab", "abababc"], ["ab", "abababab"]],
    ["^\\d{3}-\\w+$", ["123-a_Z"], ["123-", "12a-x"]],
    ["^[^abc]{2}$", ["de", "é☃"], ["da", "d"]],
    ["^[\\w.-]+$", ["a.b-c"], ["a b"]],
    ["^[a\\-z]$", ["a", "-", "z"], ["b"]],
    ["^[a\\]b]$", ["]"], ["["]],
    ['^"a\\\\"$', ['"a\\"'], ["a"]],
    ["^$", [""], ["a"]],
    ["^(a|)b$", ["ab", "b"], ["a"]],
    ["^x{2,}$", ["xx", "xxxxx"], ["x"]],
  ])("takes what matches it and nothing else: %s", (pattern, matching, others) => {
    const all = [...matching, ...others];
    expect(all.filter((text) => takes(pattern, text))).toEqual(matching);
  });

  test("may match anywhere, unless it is tied down", () => {
    const texts = ["cat", "a cat", "cats", "a cats"];
    const found = (pattern: string): string[] => texts.filter((text) => takes(pattern, text));
    expect([found("cat"), found("^cat"), found("cat$"), found("^cat$")]).toEqual([
      texts,
      ["cat", "cats"],
      ["cat", "a cat"],
      ["cat"],
    ]);
  });

  test.each([
    "(?=a)b",
    "(?!a)b",
    "(?<=a)b",
    "(?<name>a)",
    "(a)\\1",
    "\\bword\\b",
    "\\D",
    "\\W",
    "\\S",
    "\\p{L}",
    "\\u0041",
    "a^b",
    "a$b",
    "a*?",
    "a+?",
    "*a",
    "+a",
    "(a",
    "a)",
    "[a",
    "[]",
    "[^]",
    "a{,3}",
    "a\\",
    "[\\b]",
  ])("is refused where a grammar cannot follow it: %s", (pattern) => {
    expect(() => grammarOf(pattern)).toThrow(UnsupportedPattern);
  });

  // Each has more readings of one text than can be counted; llama.cpp would follow every one.
  test.each([
    ["^(a|a)*b?$", "a".repeat(60)],
    ["^(a*)*b?$", "a".repeat(60)],
    ["^(a?){0,60}b?$", "a".repeat(60)],
    ["^(a|aa|aaa)+b?$", "a".repeat(60)],
    ["^(a{0,9}){0,9}b?$", "a".repeat(60)],
    ["^.*a.*a.*a.*$", "a".repeat(60)],
    ["^(\\w+\\s?)*$", "word ".repeat(12)],
  ])("has one reading of a text: %s", (pattern, text) => {
    const { sentence, open } = grammarOf(pattern).read(text);
    expect([sentence, open <= 4]).toEqual([true, true]);
  });

  test.each([
    ["parentheses inside each other", "(".repeat(20_000) + ")".repeat(20_000)],
    ["few parentheses inside each other", "(".repeat(2_000) + ")".repeat(2_000)],
    ["a count of a million", "^a{1000000}$"],
    ["a count of a million of nothing", "^(){1000000}$"],
    ["counts inside counts", "^(((a{99}){99}){99}){99}$"],
    ["counts of nothing inside counts", "^((((){999}){999}){999}){999}$"],
    ["a choice that is remembered for long", "^(a|b)*a(a|b){40}$"],
    ["a pattern as long as a book", "a".repeat(1_000_000)],
    [
      "a large class, often",
      `^[${Array.from({ length: 3000 }, (_, at) => String.fromCodePoint(0x4e00 + 2 * at)).join("")}]{3000}(a|b|c){900}$`,
    ],
    ["backslashes", `${"\\\\".repeat(200_000)}$`],
  ])("is refused where it would be too large: %s", (_, pattern) => {
    expect(() => grammarOf(pattern)).toThrow(OverBudget);
  });
});

function grammarOrRefusal(pattern: string): GbnfMachine | undefined {
  try {
    return grammarOf(pattern);
  } catch (error) {
    expect(error).toBeInstanceOf(UnsupportedPattern);
    return undefined;
  }
}

function expectToHold(pattern: string, grammar: GbnfMachine): void {
  const expected = new RegExp(pattern, "u");
  fc.assert(
    fc.property(grammar.sentences(), (inside) => {
      const value: unknown = JSON.parse(`"${inside}"`);
      expect(typeof value === "string" && expected.test(value)).toBe(true);
    }),
    { numRuns: 200 },
  );
}
