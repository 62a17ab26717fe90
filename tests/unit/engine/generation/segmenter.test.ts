import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { TokenLogprobs } from "../../../../src/core/ports/chat-engine.ts";
import {
  type Markers,
  type Piece,
  type Segment,
  Segmenter,
} from "../../../../src/engine/generation/segmenter.ts";

const none: Markers = { thoughts: [], calls: [], noise: [], ends: [], stops: [] };
const think = { open: "<think>", close: "</think>" };

/** One token a piece. */
const pieces = (texts: readonly string[]): Piece[] =>
  texts.map((text, start) => ({ raw: text, text, start, tokens: 1 }));

/** What comes at each push, and at the end. */
function segments(segmenter: Segmenter, texts: readonly string[]): Segment[][] {
  return [...pieces(texts).map((piece) => segmenter.push(piece)), segmenter.end()];
}

const text = (value: string): Segment => ({ type: "text", text: value, logprobs: [] });
const thought = (value: string, tokens = 1): Segment => ({
  type: "reasoning",
  text: value,
  tokens,
});
const end: Segment = { type: "end" };
const endBy = (stop: string): Segment => ({ type: "end", stop });

describe("text", () => {
  test("comes piece by piece where nothing could begin", () => {
    expect(segments(new Segmenter(none), ["Hello", " ", "you"])).toEqual([
      [text("Hello")],
      [text(" ")],
      [text("you")],
      [],
    ]);
  });

  test("is held while it may be a marker, and released when it is none", () => {
    const segmenter = new Segmenter({ ...none, stops: ["STOP"] });
    expect(segments(segmenter, ["a", "ST", "O", "RE"])).toEqual([
      [text("a")],
      [],
      [],
      [text("STORE")],
      [],
    ]);
  });

  test("that was held is released at the end", () => {
    const segmenter = new Segmenter({ ...none, stops: ["STOP"] });
    expect(segments(segmenter, ["a S", "TO"])).toEqual([[], [], [text("a STO")]]);
  });

  test("that a special token stands for is not read, but its marker is seen", () => {
    const segmenter = new Segmenter({ ...none, ends: ["<|end|>"] });
    expect(segmenter.push({ raw: "Hi", text: "Hi", start: 0, tokens: 1 })).toEqual([text("Hi")]);
    expect(segmenter.push({ raw: "<|end|>", text: "", start: 1, tokens: 1 })).toEqual([end]);
  });
});

describe("a stop text", () => {
  test("ends the answer across pieces, and is no part of it", () => {
    const segmenter = new Segmenter({ ...none, stops: ["###"] });
    expect(pieces(["one #", "#", "# two"]).map((piece) => segmenter.push(piece))).toEqual([
      [],
      [],
      [text("one "), endBy("###")],
    ]);
  });

  test("ends the answer in the middle of a piece", () => {
    const segmenter = new Segmenter({ ...none, stops: ["b"] });
    expect(segmenter.push({ raw: "abc", text: "abc", start: 0, tokens: 1 })).toEqual([
      text("a"),
      endBy("b"),
    ]);
  });

  test("is the one that is named among several", () => {
    const segmenter = new Segmenter({ ...none, ends: ["<|end|>"], stops: ["x", "one", "on"] });
    expect(segments(segmenter, ["not ", "on"]).flat()).toEqual([text("not "), endBy("on")]);
  });

  test("is of no effect in a thought", () => {
    const segmenter = new Segmenter({ ...none, thoughts: [think], stops: ["x"] });
    expect(segments(segmenter, ["<think>", "x", "</think>", "axb"]).flat()).toEqual([
      thought("x"),
      text("a"),
      endBy("x"),
    ]);
  });

  const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 24 });
  const stop = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });

  test("cuts any text in any pieces at its first place, and nothing of it was sent before", () => {
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 8 }), stop, (cut, found) => {
        const whole = cut.join("");
        const at = whole.indexOf(found);
        const expected = at === -1 ? whole : whole.slice(0, at);
        const { sent, ended } = readUntilEnd([found], cut);
        expect({ text: sent.at(-1) ?? "", ended }).toEqual({ text: expected, ended: at !== -1 });
        expect(sent.every((so) => expected.startsWith(so))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test("of several is never in the text, and the text goes on with one of them", () => {
    const stops = fc.array(stop, { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 8 }), stops, (cut, found) => {
        const whole = cut.join("");
        const { sent, ended } = readUntilEnd(found, cut);
        const last = sent.at(-1) ?? "";
        expect(whole.startsWith(last)).toBe(true);
        expect(found.filter((one) => last.includes(one))).toEqual([]);
        expect(ended).toBe(found.some((one) => whole.includes(one)));
        expect(ended).toBe(found.some((one) => whole.startsWith(one, last.length)));
      }),
      { numRuns: 2000 },
    );
  });

  /** The text as it grows, up to the end. */
  function readUntilEnd(stops: readonly string[], cut: readonly string[]) {
    const segmenter = new Segmenter({ ...none, stops });
    const sent: string[] = [];
    const read = (segment: Segment): boolean => {
      if (segment.type === "text") sent.push((sent.at(-1) ?? "") + segment.text);
      return segment.type === "end";
    };
    for (const piece of pieces(cut)) {
      for (const segment of segmenter.push(piece)) if (read(segment)) return { sent, ended: true };
    }
    for (const segment of segmenter.end()) read(segment);
    return { sent, ended: false };
  }
});

describe("a thought", () => {
  test("is opened and closed across pieces, and counts its tokens", () => {
    const segmenter = new Segmenter({ ...none, thoughts: [think] });
    expect(segments(segmenter, ["<th", "ink>", "Hm", "m.", "</thi", "nk>", "Yes"])).toEqual([
      [],
      [],
      [thought("Hm")],
      [thought("m.")],
      [],
      [],
      [text("Yes")],
      [],
    ]);
  });

  test("may be where the answer starts", () => {
    const segmenter = new Segmenter(none, { startsInThought: "</think>" });
    expect(segmenter.inThought).toBe(true);
    expect(segments(segmenter, ["Hm", "</think>Yes"])).toEqual([
      [thought("Hm")],
      [text("Yes")],
      [],
    ]);
    expect(segmenter.inThought).toBe(false);
  });

  test("can come again, and stays a thought where it is never closed", () => {
    const segmenter = new Segmenter({ ...none, thoughts: [think] });
    expect(segments(segmenter, ["<think>a</think>b<think>c", "</th"])).toEqual([
      [thought("a"), text("b"), thought("c")],
      [],
      [thought("</th")],
    ]);
  });

  test("closes with what belongs to its own opening", () => {
    const other = { open: "[think]", close: "[done]" };
    const segmenter = new Segmenter({ ...none, thoughts: [think, other] });
    expect(segments(segmenter, ["[think]", "a</think>", "[done]", "b"]).flat()).toEqual([
      thought("a</think>"),
      text("b"),
    ]);
  });
});

describe("a tool call", () => {
  test("begins where its first token was, with the text before it", () => {
    const segmenter = new Segmenter({ ...none, calls: ["<call>"] });
    expect(pieces(["So", " ", "<c", "all", ">x"]).map((piece) => segmenter.push(piece))).toEqual([
      [text("So")],
      [text(" ")],
      [],
      [],
      [{ type: "call", start: 2 }],
    ]);
  });

  test("begins at the token that it shares with text", () => {
    const segmenter = new Segmenter({ ...none, calls: ["<call>"] });
    const [first, second] = pieces(["a", "b<call>"]).map((piece) => segmenter.push(piece));
    expect(first).toEqual([text("a")]);
    expect(second).toEqual([text("b"), { type: "call", start: 1 }]);
  });

  test("does not begin in a thought", () => {
    const segmenter = new Segmenter(
      { ...none, calls: ["<call>"] },
      { startsInThought: "</think>" },
    );
    expect(segments(segmenter, ["<call>"])).toEqual([[thought("<call>")], []]);
  });
});

describe("markers", () => {
  test("that are noise are dropped, in thoughts too", () => {
    const segmenter = new Segmenter({ ...none, thoughts: [think], noise: ["<n>"] });
    expect(segments(segmenter, ["a<n>b", "<think>c<n>d", "</think><n>e"]).flat()).toEqual([
      text("a"),
      text("b"),
      thought("c"),
      thought("d"),
      text("e"),
    ]);
  });

  test("that end the turn end it in a thought too", () => {
    const segmenter = new Segmenter(
      { ...none, ends: ["<|end|>"] },
      { startsInThought: "</think>" },
    );
    expect(segmenter.push({ raw: "Hm<|end|>", text: "Hm", start: 0, tokens: 1 })).toEqual([
      thought("Hm"),
      end,
    ]);
  });

  test("at one place give way to the longest", () => {
    const segmenter = new Segmenter({ ...none, noise: ["<|x|>"], calls: ["<|x|>call"] });
    expect(segmenter.push({ raw: "<|x|>call", text: "<|x|>call", start: 4, tokens: 3 })).toEqual([
      { type: "call", start: 4 },
    ]);
  });

  test("at two places are taken in their order", () => {
    const segmenter = new Segmenter({ ...none, noise: ["late marker"], stops: ["x"] });
    expect(segments(segmenter, ["axlate marker"]).flat().slice(0, 2)).toEqual([
      text("a"),
      endBy("x"),
    ]);
  });
});

describe("log probabilities", () => {
  const scored = (
    value: string,
    start: number,
  ): Piece & { logprobs: readonly TokenLogprobs[] } => ({
    ...{ raw: value, text: value, start, tokens: 1 },
    logprobs: [{ token: value, logprob: -start, bytes: [], top: [] }],
  });

  test("stay with their text while it is held", () => {
    const segmenter = new Segmenter({ ...none, stops: ["bcd"] });
    const [a, b, c, d] = ["a", "b", "c", "x"].map((value, at) => scored(value, at));
    if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error();
    expect([a, b, c, d].map((piece) => segmenter.push(piece))).toEqual([
      [{ type: "text", text: "a", logprobs: [...a.logprobs] }],
      [],
      [],
      [{ type: "text", text: "bcx", logprobs: [...b.logprobs, ...c.logprobs, ...d.logprobs] }],
    ]);
  });

  test("of a stop text go with it", () => {
    const segmenter = new Segmenter({ ...none, stops: ["bc"] });
    const found = ["a", "b", "c"].flatMap((value, at) => segmenter.push(scored(value, at)));
    expect(found).toEqual([
      { type: "text", text: "a", logprobs: scored("a", 0).logprobs },
      endBy("bc"),
    ]);
  });

  test("of a token that a stop text cuts stay with the part that is sent, once", () => {
    const segmenter = new Segmenter({ ...none, noise: ["#"] });
    const token = scored("a#b", 0);
    expect(segmenter.push(token)).toEqual([
      { type: "text", text: "a", logprobs: token.logprobs },
      text("b"),
    ]);
  });
});
