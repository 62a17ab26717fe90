import { describe, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { patternGrammar } from "../../../../src/engine/grammar/pattern.ts";
import { GrammarRules } from "../../../../src/engine/grammar/rules.ts";
import {
  decimalRange,
  integerRange,
  stringFormats,
} from "../../../../src/engine/grammar/scalars.ts";
import { GbnfMachine } from "./gbnf-machine.ts";
import { gbnfToRegExp } from "./gbnf-to-regexp.ts";

type Bounds = [least: number | undefined, most: number | undefined];

const bounds: Bounds[] = [
  [0, 0],
  [0, 9],
  [0, 10],
  [1, 100],
  [7, 1234],
  [19, 21],
  [99, 101],
  [100, 199],
  [305, 987],
  [1000, 1000],
  [-1, 1],
  [-9, -1],
  [-10, 0],
  [-105, 42],
  [-1499, -8],
  [-1000, 1000],
  [undefined, -1],
  [undefined, 0],
  [undefined, 37],
  [undefined, -250],
  [0, undefined],
  [1, undefined],
  [-3, undefined],
  [42, undefined],
  [999, undefined],
  [1000, undefined],
  [undefined, undefined],
];

const integers = Array.from({ length: 3001 }, (_, at) => at - 1500);

const within = ([least, most]: Bounds, value: number): boolean =>
  value >= (least ?? Number.NEGATIVE_INFINITY) && value <= (most ?? Number.POSITIVE_INFINITY);

describe("the grammar of whole numbers", () => {
  test.each(bounds)("takes exactly those from %p to %p", (least, most) => {
    const grammar = gbnfToRegExp(integerRange(least, most));
    expect(integers.filter((value) => grammar.test(String(value)))).toEqual(
      integers.filter((value) => within([least, most], value)),
    );
  });

  test("takes no leading zeros, no sign but minus, no fraction and no empty text", () => {
    const grammar = gbnfToRegExp(integerRange(-50, 150));
    const texts = ["", "-", "00", "01", "007", "-01", "-0", "+1", "1.0", "1e1", " 1"];
    expect(texts.filter((text) => grammar.test(text))).toEqual([]);
  });

  test("is right at any bounds", () => {
    const bound = fc.integer({ min: -2_000_000, max: 2_000_000 });
    fc.assert(
      fc.property(bound, bound, fc.integer({ min: -3_000_000, max: 3_000_000 }), (a, b, value) => {
        const [least, most] = [Math.min(a, b), Math.max(a, b)];
        const grammar = gbnfToRegExp(integerRange(least, most));
        const near = [least - 1, least, least + 1, most - 1, most, most + 1, value];
        for (const number of near) {
          expect([number, grammar.test(String(number))]).toEqual([
            number,
            within([least, most], number),
          ]);
        }
      }),
    );
  });

  test("is right at the largest numbers that a double holds exactly", () => {
    const most = Number.MAX_SAFE_INTEGER;
    const grammar = gbnfToRegExp(integerRange(-most, most));
    const takes = [String(most), String(-most), "9007199254740992", "-9007199254740992"].map(
      (text) => grammar.test(text),
    );
    expect(takes).toEqual([true, true, false, false]);
  });

  test.each([10 ** 14, 10 ** 15, 2 * 10 ** 15])(
    "takes %p and no less where it is the least",
    (least) => {
      const grammar = gbnfToRegExp(integerRange(least, undefined));
      const takes = [least, least + 1, least - 1].map((value) => grammar.test(String(value)));
      expect(takes).toEqual([true, true, false]);
    },
  );

  test("always has a number to write where there is no upper bound", () => {
    const least = Number.MAX_SAFE_INTEGER - 1;
    expect(gbnfToRegExp(integerRange(least, undefined)).test(String(least))).toBe(true);
  });
});

describe("the grammar of decimals", () => {
  const tenths = Array.from({ length: 6001 }, (_, at) => (at - 3000) / 10);

  test.each(bounds)("takes exactly those from %p to %p", (least, most) => {
    const grammar = gbnfToRegExp(decimalRange(least, most));
    const wrong = tenths.filter(
      (value) => grammar.test(value.toFixed(1)) !== within([least, most], value),
    );
    expect(wrong).toEqual([]);
  });

  test("takes whole numbers too, and of the greatest only zeros after the point", () => {
    const grammar = gbnfToRegExp(decimalRange(-2, 3));
    const texts = ["-2", "-2.0", "-2.1", "-1.999", "0", "0.5", "2.999", "3", "3.00", "3.01", "3."];
    expect(texts.filter((text) => grammar.test(text))).toEqual([
      ...["-2", "-2.0", "-1.999", "0", "0.5", "2.999", "3", "3.00"],
    ]);
  });
});

const ajv = new Ajv({ strict: false });
addFormats(ajv);

describe("the pattern of a string format", () => {
  test.each(Object.entries(stringFormats))("writes only members of it: %s", (format, pattern) => {
    const validate = ajv.compile({ type: "string", format });
    const rules = new GrammarRules();
    const root = patternGrammar(pattern, rules);
    const machine = new GbnfMachine(rules.toString(root));
    fc.assert(
      fc.property(machine.sentences(), (text) => {
        expect([text, validate(text)]).toEqual([text, true]);
      }),
      { numRuns: 500 },
    );
  });
});
