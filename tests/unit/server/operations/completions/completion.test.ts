import { describe, expect, test } from "bun:test";
import {
  bestOf,
  ChoiceLogprobs,
  type Draft,
  WrittenLogprobs,
} from "../../../../../src/server/operations/completions/completion.ts";
import {
  placesOf,
  toCandidates,
  toCompletionsRequest,
} from "../../../../../src/server/operations/completions/operation.ts";
import type { CompletionRequest } from "../../../../../src/server/operations/completions/schema.ts";
import { toUsage } from "../../../../../src/server/wire/completion.ts";

const body = (rest: Partial<CompletionRequest> = {}): CompletionRequest => ({
  model: "chatty",
  prompt: "Once",
  ...rest,
});

const requestOf = (sent: CompletionRequest) => toCompletionsRequest(sent, toCandidates(sent));

describe("a completion request", () => {
  test("has the API's own defaults", () => {
    expect(requestOf(body())).toEqual({
      model: "chatty",
      prompts: ["Once"],
      sampling: {},
      choices: 1,
      maxTokens: 16,
    });
  });

  test.each([
    [null, [""]],
    ["", [""]],
    [
      ["a", "b"],
      ["a", "b"],
    ],
    [[1, 2], [[1, 2]]],
    [
      [[1], [2, 3]],
      [[1], [2, 3]],
    ],
  ])("takes the prompt %j", (prompt, prompts) => {
    expect(requestOf(body({ prompt })).prompts).toEqual(prompts);
  });

  test("carries everything that can be said", () => {
    const sent = body({
      n: 2,
      max_tokens: 0,
      echo: true,
      logprobs: 3,
      stop: "END",
      seed: 7,
      logit_bias: { "5": -1 },
      top_k: 4,
    });
    expect(requestOf(sent)).toEqual({
      model: "chatty",
      prompts: ["Once"],
      sampling: { topK: 4 },
      choices: 2,
      maxTokens: 0,
      echo: true,
      topLogprobs: 3,
      stop: ["END"],
      seed: 7,
      logitBias: new Map([[5, -1]]),
    });
  });

  test("has no suffix where it is empty", () => {
    expect(requestOf(body({ suffix: "" }))).not.toHaveProperty("suffix");
    expect(requestOf(body({ suffix: "end" }))).toMatchObject({ suffix: "end" });
  });

  test("needs log probabilities to find the best", () => {
    expect(requestOf(body({ best_of: 3 }))).toMatchObject({ choices: 3, topLogprobs: 0 });
    expect(requestOf(body({ best_of: 3, logprobs: 2 }))).toMatchObject({ topLogprobs: 2 });
  });

  test.each([
    [{ n: 3, best_of: 2 }, "best_of"],
    [{ best_of: 2, stream: true }, "best_of"],
    [{ prompt: Array.from({ length: 129 }, () => "a") }, "prompt"],
    [{ prompt: Array.from({ length: 20 }, () => "a"), n: 7 }, "n"],
    [{ prompt: Array.from({ length: 20 }, () => "a"), best_of: 7 }, "best_of"],
    [{ echo: true, suffix: "end", logprobs: 0 }, "echo"],
  ] satisfies [Partial<CompletionRequest>, string][])("refuses %j", (rest, param) => {
    expect(() => requestOf(body(rest))).toThrow(
      expect.objectContaining({ kind: "invalid_request", param }),
    );
  });

  test("takes a place for each answer that runs at the same time", () => {
    expect(placesOf(body())).toBe(1);
    expect(placesOf(body({ prompt: [1, 2, 3] }))).toBe(1);
    expect(placesOf(body({ prompt: ["a", "b"], n: 2 }))).toBe(4);
    expect(placesOf(body({ prompt: ["a", "b"], best_of: 20 }))).toBe(8);
  });
});

const token = (text: string, logprob = -1) => ({
  token: text,
  logprob,
  bytes: [...new TextEncoder().encode(text)],
  top: [],
});

describe("log probabilities in the older form", () => {
  test("have the place of each token, in characters of the text", () => {
    const places = new ChoiceLogprobs();
    const first = places.of({
      type: "text",
      text: "🦙 hum",
      logprobs: [token("🦙"), token(" hum")],
    });
    const second = places.of({ type: "text", text: "s", logprobs: [token("s")] });
    if (first === undefined || second === undefined) throw new Error("none");
    const written = new WrittenLogprobs();
    expect(JSON.parse(written.json)).toEqual({
      tokens: [],
      token_logprobs: [],
      top_logprobs: [],
      text_offset: [],
    });
    for (const part of [first, second]) written.add(part);
    expect(JSON.parse(written.json)).toEqual({
      tokens: ["🦙", " hum", "s"],
      token_logprobs: [-1, -1, -1],
      top_logprobs: [{ "🦙": -1 }, { " hum": -1 }, { s: -1 }],
      text_offset: [0, 1, 5],
    });
  });

  test("count text that came without them", () => {
    const places = new ChoiceLogprobs();
    expect(places.of({ type: "text", text: "Once", echoed: true })).toBeUndefined();
    expect(places.of({ type: "text", text: "!", logprobs: [token("!")] })?.text_offset).toEqual([
      4,
    ]);
  });

  test("write parts of a character as bytes, at the place of the character", () => {
    const bytes = [0xc3, 0xa9].map((byte) => ({ token: "�", logprob: -1, bytes: [byte], top: [] }));
    const found = new ChoiceLogprobs().of({
      type: "text",
      text: "é!",
      logprobs: [...bytes, token("!")],
    });
    expect(found?.tokens).toEqual(["bytes:\\xc3", "bytes:\\xa9", "!"]);
    expect(found?.text_offset).toEqual([0, 0, 1]);
  });

  test("of a prompt have none for its first token, and no place for what is not in its text", () => {
    const logprobs = [token("<s>", 0), token(" a"), token(" b")];
    const found = new ChoiceLogprobs().of({ type: "text", text: "a b", logprobs, echoed: true });
    expect(found).toEqual({
      tokens: ["<s>", " a", " b"],
      token_logprobs: [null, -1, -1],
      top_logprobs: [null, { " a": -1 }, { " b": -1 }],
      text_offset: [0, 0, 1],
    });
  });

  test("of a prompt in parts go on where the one before ended", () => {
    const places = new ChoiceLogprobs();
    const part = (text: string, ...logprobs: ReturnType<typeof token>[]) =>
      places.of({ type: "text", text, logprobs, echoed: true });
    part("é b c", token("<s>", 0), { ...token(""), bytes: [0xc3] });
    expect(part("", { ...token(""), bytes: [0xa9] }, token(" b"))).toMatchObject({
      token_logprobs: [-1, -1],
      text_offset: [0, 1],
    });
    expect(part("", token(" c"))?.text_offset).toEqual([3]);
    expect(places.of({ type: "text", text: "!", logprobs: [token("!")] })?.text_offset).toEqual([
      5,
    ]);
  });

  test("name the token itself among the likeliest, also where it is none of them", () => {
    const top = [{ token: "b", logprob: -0.5, bytes: [98] }];
    const found = new ChoiceLogprobs().of({
      type: "text",
      text: "a",
      logprobs: [{ ...token("a", -2), top }],
    });
    expect(found?.top_logprobs).toEqual([{ b: -0.5, a: -2 }]);
  });
});

describe("the best of several answers", () => {
  const draft = (text: string, scores: number[], isUnscored = false): Draft => ({
    text,
    logprobs: undefined,
    scores,
    isUnscored,
    finish: undefined,
  });

  test("are those with the highest log probability per token, of each prompt", () => {
    const drafts = [
      draft("a", [-3]),
      draft("b", [-1, -1, -1]),
      draft("", []),
      draft("c", [-2]),
      draft("d", [-0.5]),
      draft("e", [-1, -2]),
    ];
    const best = bestOf(drafts, { generated: 3, sent: 2, areRanked: true });
    expect(best.map(({ text }) => text)).toEqual(["b", "a", "d", "e"]);
  });

  test("cannot be told where a server gives no log probabilities", () => {
    const drafts = [draft("a", [], true), draft("b", [], true)];
    expect(() => bestOf(drafts, { generated: 2, sent: 1, areRanked: true })).toThrow(
      expect.objectContaining({ param: "best_of" }),
    );
  });

  test("stay as they come where nothing is to be chosen", () => {
    const drafts = [draft("a", [-3]), draft("b", [-1])];
    expect(bestOf(drafts, { generated: 2, sent: 2, areRanked: false })).toEqual(drafts);
  });
});

test("the usage of several prompts counts each once, and every answer", () => {
  const usage = (promptTokens: number, cachedTokens: number, completionTokens: number) => ({
    promptTokens,
    cachedTokens,
    completionTokens,
    reasoningTokens: 0,
  });
  expect(toUsage([usage(3, 2, 5), usage(3, 0, 6), usage(4, 1, 7), usage(4, 4, 8)], 2)).toEqual({
    prompt_tokens: 7,
    completion_tokens: 26,
    total_tokens: 33,
    prompt_tokens_details: { cached_tokens: 1 },
    completion_tokens_details: { reasoning_tokens: 0 },
  });
});
