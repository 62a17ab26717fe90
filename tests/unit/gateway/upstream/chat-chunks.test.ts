import { describe, expect, test } from "bun:test";
import type { GenerationEvent } from "../../../../src/core/ports/chat-engine.ts";
import { ChatChunks } from "../../../../src/gateway/upstream/chat-chunks.ts";
import { vllmStreams } from "../../../support/recorded-vllm.ts";

const parse = (stream: readonly string[]): unknown[] =>
  stream
    .map((event) => event.slice("data: ".length).trim())
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data));

function read(chunks: readonly unknown[], answer = 4096): GenerationEvent[] {
  const tokens = { prompt: 4096, answer };
  const reader = new ChatChunks({ tokens, characters: 1_000_000 }, true);
  return [...chunks.flatMap((chunk) => reader.take(chunk)), reader.finish(99)];
}

const delta = (fields: object, finish: string | null = null): object => ({
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
});

const usage = (fields: object) => ({
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  ...fields,
});

describe("the chunks of a streamed completion", () => {
  test("are texts, a finish and what the server counted", () => {
    expect(read(parse(vllmStreams.text))).toEqual([
      { type: "text", text: "Paris" },
      { type: "text", text: "." },
      {
        type: "finish",
        reason: "stop",
        usage: usage({ promptTokens: 23, cachedTokens: 16, completionTokens: 3 }),
      },
    ]);
  });

  test.each(["__proto__", "constructor", "weary"])("end for a reason, also for %s", (reason) => {
    expect(read([delta({ content: "a" }, reason)]).at(-1)).toMatchObject({ reason: "stop" });
  });

  test("have not ended where their reason is empty, which some servers send for none", () => {
    expect(() => read([delta({ content: "a" }, "")])).toThrow("ends without a reason");
  });

  test("without counts have no more tokens than were asked for", () => {
    const found = read([delta({ content: "a" }), delta({ content: "b" }, "stop")], 1).at(-1);
    expect(found).toMatchObject({ usage: usage({ promptTokens: 99, completionTokens: 1 }) });
  });

  test("tell thoughts from the answer, under either name", () => {
    expect(read(parse(vllmStreams.reasoning))).toEqual([
      { type: "reasoning", text: "The capital" },
      { type: "reasoning", text: " of France." },
      { type: "text", text: "Paris." },
      {
        type: "finish",
        reason: "stop",
        usage: usage({ promptTokens: 23, completionTokens: 9, reasoningTokens: 2 }),
      },
    ]);
  });

  test("with a content that is no text are an error, never an empty answer", () => {
    for (const content of [7, { text: "a" }, [{ type: "text", text: "a" }]]) {
      expect(() => read([delta({ content }, "stop")])).toThrow("content that is no text");
    }
    expect(read([delta({ content: null }, "stop")])).toHaveLength(1);
  });

  describe("of several answers where one was asked for", () => {
    const choice = (index: number, content: string) => ({ index, delta: { content } });
    const end = delta({}, "stop");

    test.each([
      ["in one chunk", [{ choices: [choice(0, "a"), choice(1, "b")] }, end]],
      [
        "in chunks of their own",
        [{ choices: [choice(0, "a")] }, { choices: [choice(1, "b")] }, end],
      ],
      ["with another's end", [{ choices: [choice(1, "a")] }, end]],
    ])("are an error, never one text: %s", (_, chunks) => {
      expect(() => read(chunks)).toThrow("several answers where one was asked for");
    });

    test("are taken where the one answer has another number, or none", () => {
      const text = { type: "text", text: "a" } as const;
      expect(read([{ choices: [{ ...choice(3, "a"), finish_reason: "stop" }] }])[0]).toEqual(text);
      expect(read([{ choices: [{ delta: { content: "a" } }] }, end])[0]).toEqual(text);
    });
  });

  test("hold tool calls in pieces, several side by side", () => {
    expect(read(parse(vllmStreams.tools))).toEqual([
      { type: "tool-call", index: 0, id: "chatcmpl-tool-1", name: "get_weather" },
      { type: "tool-arguments", index: 0, text: '{"city": ' },
      { type: "tool-arguments", index: 0, text: '"Paris"}' },
      { type: "tool-call", index: 1, id: "chatcmpl-tool-2", name: "get_time" },
      { type: "tool-arguments", index: 1, text: "{}" },
      {
        type: "finish",
        reason: "tool_calls",
        usage: usage({ promptTokens: 180, completionTokens: 31 }),
      },
    ]);
  });

  test("finish with tool_calls where a call was made, whatever reason the server gives", () => {
    expect(read(parse(vllmStreams.namedTool)).at(-1)).toMatchObject({ reason: "tool_calls" });
  });

  test("finish with stop where the server tells of calls and made none", () => {
    const [, finish] = read([delta({ content: "a" }, "tool_calls")]);
    expect(finish).toMatchObject({ type: "finish", reason: "stop" });
  });

  test("hold a call's arguments also where the server sends them as an object", () => {
    const call = (given: unknown) => ({ index: 0, function: { name: "look", arguments: given } });
    const found = (given: unknown) =>
      read([delta({ tool_calls: [call(given)] }, "tool_calls")]).slice(1, -1);
    expect(found({ path: "a" })).toEqual([
      { type: "tool-arguments", index: 0, text: '{"path":"a"}' },
    ]);
    expect(found(null)).toEqual([]);
  });

  test("number calls from 0, and give one an id that has none", () => {
    const call = { index: 3, function: { name: "look", arguments: "{}" } };
    expect(read([delta({ tool_calls: [call] }, "tool_calls")]).slice(0, 2)).toEqual([
      { type: "tool-call", index: 0, id: expect.stringMatching(/^call_/), name: "look" },
      { type: "tool-arguments", index: 0, text: "{}" },
    ]);
  });

  test("carry log probabilities, with bytes where the server sends none", () => {
    expect(read(parse(vllmStreams.logprobs))[0]).toEqual({
      type: "text",
      text: "Yes",
      logprobs: [
        {
          token: "Yes",
          logprob: -0.25,
          bytes: [89, 101, 115],
          top: [
            { token: "Yes", logprob: -0.25, bytes: [89, 101, 115] },
            { token: "é", logprob: -9999, bytes: [195, 169] },
          ],
        },
      ],
    });
  });

  test("never cut a character in two, and are never empty", () => {
    const [high = "", low = ""] = "😀".split("");
    expect(
      read([
        delta({ content: `a${high}` }),
        delta({ content: `${low}b` }),
        delta({ content: "" }, "stop"),
      ]).slice(0, -1),
    ).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "😀b" },
    ]);
  });

  test.each(["content", "reasoning"])(
    "are passed on in short events where their %s is long, and count as one token",
    (field) => {
      const long = `a${"😀".repeat(150_000)}`;
      const found = read([delta({ [field]: long }, "stop")]);
      const texts = found.slice(0, -1).map((event) => ("text" in event ? event.text : ""));
      expect(texts.length).toBeGreaterThan(4);
      for (const text of texts)
        expect([text.length > 65_536, text.isWellFormed()]).toEqual([false, true]);
      expect(texts.join("")).toBe(long);
      expect(found.at(-1)).toMatchObject({ usage: { completionTokens: 1 } });
    },
  );

  test("are passed on in short events where a call's arguments are long", () => {
    const call = { index: 0, function: { name: "look", arguments: "a".repeat(200_000) } };
    const found = read([delta({ tool_calls: [call] }, "tool_calls")]);
    const pieces = found.filter(({ type }) => type === "tool-arguments");
    expect(pieces.map((piece) => ("text" in piece ? piece.text.length : 0))).toEqual([
      65_536, 65_536, 65_536, 3392,
    ]);
  });

  test("keep a long text together with its log probabilities", () => {
    const logprobs = { content: [{ token: "a", logprob: -1 }] };
    const chunk = { choices: [{ text: "a".repeat(200_000), logprobs, finish_reason: "stop" }] };
    expect(read([chunk])).toHaveLength(2);
  });

  test("are counted here where the server does not count", () => {
    expect(read([delta({ content: "a" }), delta({ content: "b" }, "length")]).at(-1)).toEqual({
      type: "finish",
      reason: "length",
      usage: usage({ promptTokens: 99, completionTokens: 2 }),
    });
  });

  test.each([
    ["a text", { prompt_tokens: "5", completion_tokens: 1 }],
    ["negative", { prompt_tokens: 5, completion_tokens: -3 }],
    ["missing", { prompt_tokens: 5 }],
  ])("are counted here where a count of the server is %s", (_, counts) => {
    const found = read([delta({ content: "a" }, "stop"), { choices: [], usage: counts }]).at(-1);
    expect(found).toMatchObject({ usage: usage({ promptTokens: 99, completionTokens: 1 }) });
  });

  test("have no endless log probabilities, which JSON does not have", () => {
    const logprobs = {
      tokens: ["a"],
      token_logprobs: [Number.POSITIVE_INFINITY],
      top_logprobs: [{ a: Number.NEGATIVE_INFINITY }],
    };
    const chunk = { choices: [{ index: 0, text: "a", logprobs, finish_reason: "stop" }] };
    expect(read([chunk])[0]).toMatchObject({
      logprobs: [{ logprob: -9999, top: [{ logprob: -9999 }] }],
    });
  });

  test.each([
    ["stop", "stop"],
    ["eos_token", "stop"],
    ["content_filter", "content_filter"],
    ["something new", "stop"],
  ])("that end with %s finish with %s", (theirs, ours) => {
    expect(read([delta({ content: "a" }, theirs)]).at(-1)).toMatchObject({ reason: ours });
  });

  test.each([
    ["stop_reason", "END", "END"],
    ["matched_stop", "END", "END"],
    // The id of the token that ended it.
    ["stop_reason", 2, undefined],
    ["stop_reason", null, undefined],
  ])("name the stop text where the server does: %s %p", (field, value, stop) => {
    const last = { index: 0, delta: {}, finish_reason: "stop", [field]: value };
    const found = read([delta({ content: "a" }), { choices: [last] }]).at(-1);
    expect(found).toEqual({
      type: "finish",
      reason: "stop",
      usage: usage({ promptTokens: 99, completionTokens: 1 }),
      ...(stop === undefined ? {} : { stop }),
    });
  });

  test.each([
    ["no reason", [delta({ content: "a" })], "an answer that ends without a reason"],
    ["an abort", [delta({}, "abort")], "an answer that it broke off"],
    [
      "a call of nothing",
      [delta({ tool_calls: [{ index: 0, function: { arguments: "{" } }] })],
      "a tool call without a name",
    ],
  ])("are refused where they end in %s", (_, chunks, message) => {
    expect(() => read(chunks)).toThrow(message);
  });

  test("are refused where a text has 70,000 log probabilities", () => {
    const logprobs = { content: Array.from({ length: 70_000 }, () => ({})) };
    const chunk = { choices: [{ index: 0, delta: { content: "a" }, logprobs }] };
    expect(() => read([chunk])).toThrow("of more tokens than an answer has");
  });

  const tokens = ["a"];
  const long = "x".repeat(5 * 1024 * 1024);
  test.each([
    ["a number for a token", { content: [0] }, "of no token"],
    [
      "a number for an alternative",
      { content: [{ token: "a", top_logprobs: [0] }] },
      "of no token",
    ],
    ["a long token", { content: [{ token: long }] }, "than any answer has"],
    ["a long token in a list", { tokens: [long] }, "than any answer has"],
    ["a long token of bytes", { tokens: [`bytes:${long}`] }, "than any answer has"],
    ["a long alternative", { tokens, top_logprobs: [{ [long]: 0 }] }, "than any answer has"],
    ["a list of too many", { tokens: Array.from({ length: 70_000 }, () => 0) }, "of more tokens"],
  ])("are refused where log probabilities have %s", (_, logprobs, message) => {
    expect(() => read([{ choices: [{ text: "a", logprobs }] }])).toThrow(message);
  });

  test("are refused where all their log probabilities are more than any answer has", () => {
    const content = Array.from({ length: 60_000 }, () => ({ token: "" }));
    const chunk = { choices: [{ text: "a", logprobs: { content } }] };
    const chunks = Array.from({ length: 9 }, () => chunk);
    expect(() => read(chunks)).toThrow("than any answer has");
  });

  test.each([["x".repeat(10)], [[0, 0, 0]]])("have no alternatives in %j", (top) => {
    const logprobs = { tokens, token_logprobs: [-1], top_logprobs: [top] };
    const [text] = read([{ choices: [{ text: "a", logprobs, finish_reason: "stop" }] }]);
    const logprob = { token: "a", logprob: -1, bytes: [97], top: [] };
    expect(text).toEqual({ type: "text", text: "a", logprobs: [logprob] });
  });

  test("have log probabilities in the older form too", () => {
    const logprobs = {
      tokens: ["a", "bytes:\\xc3"],
      token_logprobs: [-1, null],
      top_logprobs: [{ a: -1, b: -0.5 }, null],
    };
    const [text] = read([{ choices: [{ text: "a", logprobs, finish_reason: "stop" }] }]);
    expect(text).toEqual({
      type: "text",
      text: "a",
      logprobs: [
        {
          token: "a",
          logprob: -1,
          bytes: [97],
          top: [
            { token: "b", logprob: -0.5, bytes: [98] },
            { token: "a", logprob: -1, bytes: [97] },
          ],
        },
        { token: "bytes:\\xc3", logprob: -9999, bytes: [0xc3], top: [] },
      ],
    });
  });

  test("may have thoughts between texts, and pieces of two calls in turn", () => {
    const turns = Array.from({ length: 100 }, () => delta({ reasoning: "r", content: "c" }));
    const call = (index: number, more = {}) => ({ index, function: { arguments: " ", ...more } });
    const begun = delta({ tool_calls: [0, 1].map((at) => call(at, { name: "look" })) });
    const pieces = Array.from({ length: 5000 }, () => delta({ tool_calls: [call(0), call(1)] }));
    expect(read([...turns, begun, ...pieces, delta({}, "stop")])).toHaveLength(10_205);
  });

  test("are refused where they hold many entries, even empty ones", () => {
    const choices = Array.from({ length: 100 }, () => 0);
    expect(() => read([{ choices }])).toThrow("several answers where one was asked for");
  });

  test("are read past whatever else is in them", () => {
    const odd = [
      {},
      { choices: null },
      { choices: [null] },
      delta({ refusal: 5 }),
      { usage: "many" },
    ];
    expect(read([...odd, delta({ content: "a" }, "stop")])).toHaveLength(2);
  });
});
