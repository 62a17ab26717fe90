import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type CallPart,
  type CallSyntax,
  ToolCallParser,
} from "../../../../src/engine/generation/tool-call-parser.ts";

const syntax: CallSyntax = {
  prefix: "<call>",
  paramsPrefix: () => "(",
  suffix: () => ")</call>",
  between: "\n",
};
const names = ["get", "get_weather", "getter"];

const name = (index: number, value: string): CallPart => ({ type: "name", index, name: value });
const written = (index: number, text: string): CallPart => ({ type: "arguments", index, text });

/** The parts with the arguments of one call joined. */
function joined(parts: readonly CallPart[]): CallPart[] {
  const whole: CallPart[] = [];
  for (const part of parts) {
    const last = whole.at(-1);
    if (part.type === "arguments" && last?.type === "arguments" && last.index === part.index) {
      whole[whole.length - 1] = written(part.index, last.text + part.text);
    } else whole.push(part);
  }
  return whole;
}

function read(texts: readonly string[], known = names, style = syntax) {
  const parser = new ToolCallParser(known, style);
  const parts = texts.flatMap((text) => parser.push(text));
  return { parts, complete: parser.complete };
}

describe("a tool call in text", () => {
  test("has its name once it is whole, then arguments as they grow, and is complete with them", () => {
    const parser = new ToolCallParser(names, syntax);
    const seen = ["get", "(", '{"a":', "1", "}", ")</call>"].map((text) => ({
      parts: parser.push(text),
      complete: parser.complete,
    }));
    expect(seen).toEqual([
      { parts: [], complete: false },
      { parts: [name(0, "get")], complete: false },
      { parts: [written(0, '{"a":')], complete: false },
      { parts: [written(0, "1")], complete: false },
      { parts: [written(0, "}")], complete: true },
      { parts: [], complete: true },
    ]);
  });

  test.each(names)("is told apart from tools whose names begin alike: %s", (called) => {
    for (const order of [names, names.toReversed()]) {
      expect(read([`${called}({})`], order).parts).toEqual([name(0, called), written(0, "{}")]);
    }
  });

  test.each([
    '{"a":"}"}',
    '{"a":"{["}',
    '{"a":"\\"}"}',
    '{"a":"\\\\"}',
    '{"a":"\\\\\\"]"}',
    '{"a":[{"b":[]},"]"],"c":{}}',
    '{\n  "a": "}{"\n}',
  ])("ends where its object ends: %s", (text) => {
    expect(read([`get(${text})</call>`])).toEqual({
      parts: [name(0, "get"), written(0, text)],
      complete: true,
    });
  });

  test("is followed by others, each with the next index", () => {
    const text = 'get({"a":1})</call>\n<call>getter({})</call>\n<call>get({"b":{}})</call>';
    expect(read([text])).toEqual({
      parts: [
        ...[name(0, "get"), written(0, '{"a":1}')],
        ...[name(1, "getter"), written(1, "{}")],
        ...[name(2, "get"), written(2, '{"b":{}}')],
      ],
      complete: true,
    });
  });

  test("is not complete while another has begun", () => {
    expect(read(["get({})</call>\n<call>ge"])).toEqual({
      parts: [name(0, "get"), written(0, "{}")],
      complete: false,
    });
  });

  test("may have its name in what comes before and after the arguments", () => {
    const style = {
      ...syntax,
      paramsPrefix: (called: string) => `|${called}|`,
      suffix: (called: string) => `/${called}`,
    };
    expect(read(["get|get|{}/get\n<call>getter|getter|{}/getter"], names, style).parts).toEqual([
      name(0, "get"),
      written(0, "{}"),
      name(1, "getter"),
      written(1, "{}"),
    ]);
  });

  test("gives the same parts however it is cut", () => {
    const call = fc.record({
      called: fc.constantFrom(...names),
      params: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
      indent: fc.constantFrom(0, 2),
    });
    const calls = fc.array(call, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(calls, fc.array(fc.nat(200), { maxLength: 12 }), (made, cuts) => {
        const texts = made.map(({ params, indent }) => JSON.stringify(params, null, indent));
        const whole = made
          .map(({ called }, at) => `${called}(${texts[at]})</call>`)
          .join("\n<call>");
        const found = read(cutAt(whole, cuts));
        expect(joined(found.parts)).toEqual(
          made.flatMap(({ called }, at) => [name(at, called), written(at, texts[at] ?? "")]),
        );
        expect(found.complete).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

function cutAt(text: string, places: readonly number[]): string[] {
  const sorted = [0, ...places.filter((at) => at < text.length).toSorted((a, b) => a - b)];
  return sorted.map((at, index) => text.slice(at, sorted[index + 1]));
}
