import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChatModel } from "../../src/core/models/model.ts";
import type {
  GenerationEvent,
  GenerationRequest,
  Sampling,
} from "../../src/core/ports/chat-engine.ts";
import { greedy } from "../support/greedy.ts";
import { rejectionOf } from "../support/rejection.ts";
import { neutralSettings, tinyChatModel } from "../support/tiny-engines.ts";

const warm: Sampling = { ...greedy, temperature: 1 };

/** The tiny vocabulary: three specials, the bytes, then the printable characters. */
const endToken = 2;
const tokenOf = (character: string): number => 3 + 256 + character.charCodeAt(0) - 33;
/** Leaves only tokens that are whole characters, and no end. */
const readable = new Map(Array.from({ length: 3 + 256 }, (_, id) => [id, -100]));

const ask = (content: string, rest: Partial<GenerationRequest> = {}): GenerationRequest => ({
  messages: [{ role: "user", content }],
  sampling: greedy,
  maxTokens: 24,
  logitBias: readable,
  ...rest,
});

let model: ChatModel;

beforeAll(async () => {
  model = await tinyChatModel({ parallel: 4, settings: { ...neutralSettings, ctxSize: 512 } });
});
afterAll(async () => {
  await model[Symbol.asyncDispose]();
});

async function run(request: GenerationRequest) {
  const { signal } = new AbortController();
  const events = await Array.fromAsync(model.engine.generate(request, { signal }));
  const last = events.at(-1);
  if (last?.type !== "finish") throw new Error("The events do not end in a finish");
  return { text: events.map(textOf).join(""), events, reason: last.reason, usage: last.usage };
}

const textOf = (event: GenerationEvent): string => (event.type === "text" ? event.text : "");

describe("stop", () => {
  test("ends the answer before its first occurrence, which no event holds a part of", async () => {
    const whole = await run(ask("Stop"));
    const stop = whole.text.slice(6, 9);
    const cut = await run(ask("Stop", { stop: ["never written", stop] }));
    expect({ text: cut.text, reason: cut.reason }).toEqual({
      text: whole.text.slice(0, whole.text.indexOf(stop)),
      reason: "stop",
    });
    expect(cut.usage.completionTokens).toBeLessThan(whole.usage.completionTokens);
  });

  test("leaves an answer alone that holds only its beginning", async () => {
    const whole = await run(ask("Stop"));
    const { text, reason } = await run(ask("Stop", { stop: [`${whole.text.slice(-3)}never`] }));
    expect({ text, reason }).toEqual({ text: whole.text, reason: "length" });
  });
});

describe("seed", () => {
  const answer = async (seed: number) => (await run(ask("Seed", { sampling: warm, seed }))).text;

  test("gives the same answer again, and another for another", async () => {
    expect(await answer(7)).toBe(await answer(7));
    expect(await answer(7)).not.toBe(await answer(8));
  });

  test.each([-1, 2 ** 32 + 5, Number.MIN_SAFE_INTEGER])("may be any integer: %p", async (seed) => {
    expect(await answer(seed)).toBe(await answer(seed));
  });
});

describe("log probabilities", () => {
  const scored = async (sampling: Sampling, topLogprobs: number) => {
    const { events, usage } = await run(ask("Odds", { sampling, topLogprobs, seed: 3 }));
    const tokens = events.flatMap((event) => (event.type === "text" ? (event.logprobs ?? []) : []));
    return { tokens, usage, text: events.map(textOf).join("") };
  };

  test("are one a token, which spell the text", async () => {
    const { tokens, usage, text } = await scored(greedy, 0);
    expect(tokens).toHaveLength(usage.completionTokens);
    expect(tokens.map(({ token }) => token).join("")).toBe(text);
    expect(tokens.every(({ top }) => top.length === 0)).toBe(true);
    expect(tokens.map(({ bytes }) => Buffer.from(bytes ?? []).toString()).join("")).toBe(text);
  });

  test.each([
    ["temperature 0", greedy],
    ["temperature 1", warm],
  ])("of the likeliest come in order and make no more than one, at %s", async (_, sampling) => {
    const { tokens } = await scored(sampling, 20);
    for (const { top, logprob } of tokens) {
      const values = top.map((one) => one.logprob);
      expect(values.length).toBeLessThanOrEqual(20);
      expect(values).toEqual(values.toSorted((a, b) => b - a));
      expect(values.reduce((sum, value) => sum + Math.exp(value), 0)).toBeLessThan(1.0001);
      expect(logprob).toBeLessThanOrEqual(values[0] ?? 0);
    }
  });

  test("hold the chosen token at the top at temperature 0", async () => {
    const { tokens } = await scored(greedy, 3);
    expect(tokens.map(({ top }) => top[0]?.token ?? "")).toEqual(tokens.map(({ token }) => token));
    expect(tokens.map(({ top }) => top[0]?.logprob ?? 1)).toEqual(
      tokens.map(({ logprob }) => logprob),
    );
  });

  test("are not there where they were not asked for", async () => {
    const { events } = await run(ask("Odds"));
    expect(events.some((event) => "logprobs" in event)).toBe(false);
  });
});

describe("logit_bias", () => {
  test("forces a token", async () => {
    const { text, reason } = await run(
      ask("Force", { logitBias: new Map([[tokenOf("A"), 100]]), maxTokens: 5 }),
    );
    expect({ text, reason }).toEqual({ text: "AAAAA", reason: "length" });
  });

  test("forces the end, and the answer is empty", async () => {
    const { text, reason, usage } = await run(
      ask("End", { logitBias: new Map([[endToken, 100]]) }),
    );
    expect({ text, reason, tokens: usage.completionTokens }).toEqual({
      text: "",
      reason: "stop",
      tokens: 0,
    });
  });

  test("bans the end, and the answer runs to its length", async () => {
    const results = await Promise.all(
      [1, 2, 3, 4].map((seed) =>
        run(
          ask("On", {
            logitBias: new Map([[endToken, -100]]),
            sampling: { ...greedy, temperature: 2 },
            seed,
            maxTokens: 60,
          }),
        ),
      ),
    );
    expect(results.map(({ reason }) => reason)).toEqual(["length", "length", "length", "length"]);
  });

  test("of a token that the model does not have is refused", async () => {
    expect(await rejectionOf(run(ask("x", { logitBias: new Map([[360, 1]]) })))).toMatchObject({
      kind: "invalid_request",
      param: "logit_bias",
      message: "'logit_bias' names the token 360; this model has the tokens 0 to 359.",
    });
  });
});

describe("sampling", () => {
  test.each([
    ["top_k 1", { topK: 1 }],
    ["min_p 1", { minP: 1 }],
  ])("with %s leaves only the likeliest token", async (_, only) => {
    const hot = { ...greedy, temperature: 2, ...only };
    expect((await run(ask("Narrow", { sampling: hot }))).text).toBe(
      (await run(ask("Narrow"))).text,
    );
  });

  test("with a repeat penalty gives another answer", async () => {
    const long = { maxTokens: 60 };
    const penalised = { ...greedy, repeatPenalty: 5 };
    const plain = await run(ask("Repeat", long));
    const other = await run(ask("Repeat", { ...long, sampling: penalised }));
    expect(other.text).not.toBe(plain.text);
    expect(new Set(other.text).size).toBeGreaterThan(new Set(plain.text).size);
  });
});

describe("DRY", () => {
  const long = { maxTokens: 100 };
  const dry = { ...greedy, dryMultiplier: 5 };

  test("keeps an answer from going on with a repetition", async () => {
    const plain = await run(ask("Repeat", long));
    const other = await run(ask("Repeat", { ...long, sampling: dry }));
    expect(longestRepeat(other.text)).toBeLessThan(longestRepeat(plain.text));
  });

  test("knows nothing of the answer before", async () => {
    const first = await run(ask("Repeat", { ...long, sampling: dry }));
    const second = await run(ask("Repeat", { ...long, sampling: dry }));
    expect(second.text).toBe(first.text);
  });

  test.each([
    ["a window of none", { sampling: { ...dry, repeatLastN: 0 } }, {}],
    ["a grammar", { sampling: dry, format: "json" }, { format: "json" }],
  ] as const)("does nothing with %s", async (_, off, plain) => {
    const { text } = await run(ask("Repeat", { ...long, ...off }));
    expect(text).toBe((await run(ask("Repeat", { ...long, ...plain }))).text);
  });
});

/** The length of the longest text that comes a second time. */
function longestRepeat(text: string): number {
  let longest = 0;
  for (let from = 0; from < text.length; from++) {
    while (text.indexOf(text.slice(from, from + longest + 1), from + 1) !== -1) {
      if (from + longest + 1 > text.length) break;
      longest++;
    }
  }
  return longest;
}

describe("cached tokens", () => {
  const talk = (...contents: string[]): Partial<GenerationRequest> => ({
    messages: contents.map((content, at) => ({
      role: at % 2 === 0 ? "user" : "assistant",
      content,
    })),
    maxTokens: 4,
  });

  test("are the whole prompt but its last token when it comes again", async () => {
    const first = await run(ask("Remember this for me"));
    const second = await run(ask("Remember this for me"));
    expect(second.usage.cachedTokens).toBeGreaterThan(first.usage.cachedTokens);
    expect(second.usage.cachedTokens).toBe(second.usage.promptTokens - 1);
  });

  test("grow with a conversation", async () => {
    const first = await run(ask("", talk("A first question of some length?")));
    const next = talk("A first question of some length?", first.text, "And then?");
    const second = await run(ask("", next));
    expect(second.usage.cachedTokens).toBeGreaterThanOrEqual(first.usage.promptTokens - 1);
    expect(second.usage.cachedTokens).toBeLessThan(second.usage.promptTokens);
  });

  test("are copied from one slot to others for the same prompt at once", async () => {
    const request = ask("Zebras: four answers to one question, please.", { maxTokens: 3 });
    const results = await Promise.all([1, 2, 3, 4].map(() => run(request)));
    const wanted = (results[0]?.usage.promptTokens ?? 0) - 1;
    expect(results.map(({ usage }) => usage.cachedTokens >= wanted)).toContain(true);
    expect(new Set(results.map(({ text }) => text)).size).toBe(1);
  });
});
