import { describe, expect, test } from "bun:test";
import { withoutContained } from "../../../../src/core/chat/grounded-prompt.ts";

const of = (...sources: string[]) => sources.map((source) => ({ source }));
const long = "The pressure of the boiler should stay between 1.2 and 1.8 bar all year round.";
const other = "The filter of the pump is cleaned once a year, before the heating season begins.";

describe("passages", () => {
  test("that another one contains are left out, whichever comes first", () => {
    const both = `${long}\n\n${other}`;
    expect(withoutContained(of(long, both))).toEqual(of(both));
    expect(withoutContained(of(both, other))).toEqual(of(both));
  });

  test("that are the same but for spaces, case and signs are there once, the first", () => {
    const copy = `${long.toUpperCase().replaceAll(" ", "  ")}!`;
    expect(withoutContained(of(long, copy))).toEqual(of(long));
  });

  test("that differ in little more than their headings are there once", () => {
    const text = `${long} ${other} ${"More is said about it in the handbook of the maker. ".repeat(2)}`;
    expect(withoutContained(of(`House\n\n${text}`, `Home\n\n${text}`))).toHaveLength(1);
  });

  test("that share some sentences, or differ in a figure, stay", () => {
    const figure = long.replace("1.8", "2.4");
    expect(withoutContained(of(`${long} ${other}`, `${long} Ask the maker.`, figure))).toHaveLength(
      3,
    );
  });

  test("of a script without spaces are compared by their letters", () => {
    const text = "锅炉的压力全年应保持在一点二到一点八巴之间。";
    expect(withoutContained(of(text, `${text}请每年检查一次。`))).toHaveLength(1);
    expect(withoutContained(of(text, "过滤器应当每年清洗一次。"))).toHaveLength(2);
  });

  test("of a word or two are left out only where they are the same", () => {
    expect(withoutContained(of("p1", "p2", "p1 "))).toEqual(of("p1", "p2"));
  });

  test("that an earlier turn has in the prompt are left out", () => {
    expect(withoutContained(of(other, long), of(`${long} And more.`))).toEqual(of(other));
  });
});
