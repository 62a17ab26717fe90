import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ChatModel } from "../../src/core/models/model.ts";
import type { CompletionRequest, GenerationEvent } from "../../src/core/ports/chat-engine.ts";
import { greedy } from "../support/greedy.ts";
import { rejectionOf } from "../support/rejection.ts";
import { tempDir } from "../support/temp-dir.ts";
import { allPlaces, neutralSettings, places, tinyChatModel } from "../support/tiny-engines.ts";
import { save, tinyLlama } from "../support/tiny-models.ts";

const ask = (prompt: string | readonly number[], rest: Partial<CompletionRequest> = {}) => ({
  prompt,
  sampling: greedy,
  maxTokens: 8,
  ...rest,
});

const run = async (model: ChatModel, request: CompletionRequest): Promise<GenerationEvent[]> =>
  await Array.fromAsync(model.engine.generate(request, { signal: new AbortController().signal }));

const textOf = (events: readonly GenerationEvent[]): string =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

const finishOf = (events: readonly GenerationEvent[]) => {
  const last = events.at(-1);
  if (last?.type !== "finish") throw new Error("The events do not end in a finish");
  return last;
};

/** In the tiny model: `<s>`, the space that begins a text, and "A" as its id. */
const [begin, space, a] = [1, 353, 291];

describe.each(allPlaces)("a raw prompt in %s", (place) => {
  let model: ChatModel;
  beforeAll(async () => {
    model = await tinyChatModel({}, place);
  });
  afterAll(async () => {
    await model[Symbol.asyncDispose]();
  });

  test("is continued as it stands, with what begins a text and no template", async () => {
    const { reason, usage } = finishOf(await run(model, ask("AA")));
    expect(reason).toBe("length");
    expect(usage).toMatchObject({ promptTokens: 4, completionTokens: 8 });
  });

  test("is the same as text and as token ids", async () => {
    const text = await run(model, ask("AA"));
    const ids = await run(model, ask([begin, space, a, a]));
    expect(textOf(ids)).toBe(textOf(text));
    expect(finishOf(ids).usage.promptTokens).toBe(4);
  });

  test("may write out special tokens, and does not begin twice", async () => {
    const [begun, plain] = [await run(model, ask("<s>AA</s>A")), await run(model, ask("AA</s>A"))];
    // A space begins the text, and what follows a special token.
    expect(finishOf(begun).usage.promptTokens).toBe(7);
    expect(textOf(begun)).toBe(textOf(plain));
  });

  test("that is empty is the beginning of a document", async () => {
    expect(finishOf(await run(model, ask(""))).usage.promptTokens).toBe(1);
  });

  test("is continued with the space that stands between two words", async () => {
    const words = await run(model, ask("A", { logitBias: new Map([[354, 100]]), maxTokens: 2 }));
    expect(textOf(words)).toBe(" the the");
  });

  test("comes before its answer where that is wanted", async () => {
    const plain = textOf(await run(model, ask("Hello")));
    const events = await run(model, ask("Hello", { echo: true }));
    expect(events[0]).toEqual({ type: "text", text: "Hello", echoed: true });
    expect(textOf(events)).toBe(`Hello${plain}`);
    expect(finishOf(events).usage.completionTokens).toBe(8);
  });

  test("of a token that there is not is refused", async () => {
    expect(await rejectionOf(run(model, ask([begin, 99_999])))).toMatchObject({
      kind: "invalid_request",
      subject: { part: "prompt" },
      message: expect.stringContaining("99999"),
    });
  });

  test("that is too long is refused, as text and as ids", async () => {
    for (const prompt of ["A".repeat(400), Array.from({ length: 300 }, () => a)]) {
      expect(await rejectionOf(run(model, ask(prompt)))).toMatchObject({
        kind: "context_length_exceeded",
        subject: { part: "prompt" },
      });
    }
  });

  test("ends at a stop text", async () => {
    const whole = textOf(await run(model, ask("Hello", { logitBias: new Map([[a, 100]]) })));
    expect(whole).toBe("AAAAAAAA");
    const stopped = await run(
      model,
      ask("Hello", { logitBias: new Map([[a, 100]]), stop: ["AA"] }),
    );
    expect(textOf(stopped)).toBe("");
    expect(finishOf(stopped).reason).toBe("stop");
  });

  test("finds what was evaluated before", async () => {
    const prompt = "The llama hums while it walks up the hill. ".repeat(3);
    const first = await run(model, ask(prompt, { maxTokens: 2 }));
    const second = await run(model, ask(`${prompt}It`, { maxTokens: 2 }));
    expect(finishOf(first).usage.promptTokens).toBeGreaterThan(60);
    expect(finishOf(second).usage.cachedTokens).toBeGreaterThan(60);
  });

  test("has the log probabilities of its answer", async () => {
    const events = await run(model, ask("Hello", { topLogprobs: 2, maxTokens: 3 }));
    const tokens = events.flatMap((event) => (event.type === "text" ? (event.logprobs ?? []) : []));
    expect(tokens).toHaveLength(3);
    for (const { logprob, bytes, top } of tokens) {
      expect(logprob).toBeLessThan(0);
      expect(logprob).toBeCloseTo(top[0]?.logprob ?? 0, 5);
      expect(bytes.length).toBeGreaterThan(0);
    }
  });
});

describe.each(places)("the log probabilities of a prompt in %s", (place) => {
  let model: ChatModel;
  beforeAll(async () => {
    model = await tinyChatModel({ settings: { ...neutralSettings, ctxSize: 512 } }, place);
  });
  afterAll(async () => {
    await model[Symbol.asyncDispose]();
  });

  /** Longer than what is evaluated in one step. */
  const prompt = "The llama hums while it walks up the hill.";

  const echoed = async (rest: Partial<CompletionRequest> = {}) => {
    const events = await run(model, ask(prompt, { echo: true, topLogprobs: 2, ...rest }));
    const [first] = events;
    if (first?.type !== "text") throw new Error("The prompt does not come first");
    return { events, first, logprobs: first.logprobs ?? [] };
  };

  test("are those that the model gave each token after the ones before it", async () => {
    const { first, logprobs } = await echoed({ maxTokens: 0 });
    expect(first).toMatchObject({ text: prompt, echoed: true });
    expect(logprobs[0]).toEqual({ token: "<s>", logprob: 0, bytes: [60, 115, 62], top: [] });
    // The likeliest tokens after a part of the prompt are what an answer to that part is drawn from.
    const tokenizer = model.engine.tokenizer;
    const { signal } = new AbortController();
    const input = { text: prompt, addSpecial: true, parseSpecial: true };
    const tokens = [...((await tokenizer?.tokenize(input, { signal }))?.tokens ?? [])];
    expect(logprobs).toHaveLength(tokens.length);
    for (const at of [1, 2, 31, 32, 33, tokens.length - 1]) {
      const part = ask(tokens.slice(0, at), { topLogprobs: 0, maxTokens: 4 });
      const [next] = await run(model, part);
      const drawn = next?.type === "text" ? next.logprobs?.[0] : undefined;
      const top = logprobs[at]?.top ?? [];
      expect(top[0]?.logprob).toBeCloseTo(drawn?.logprob ?? 0, 3);
      expect(top[0]?.bytes).toEqual([...(drawn?.bytes ?? [])]);
      expect(logprobs[at]?.logprob).toBeLessThanOrEqual(top[0]?.logprob ?? 0);
    }
  });

  test("come with the answer as it is without them", async () => {
    const { events } = await echoed();
    expect(textOf(events.slice(1))).toBe(textOf(await run(model, ask(prompt))));
    expect(finishOf(events).usage.completionTokens).toBe(8);
  });

  test("of a long prompt come in parts, with its text before them", async () => {
    const onlyA = { logitBias: new Map([[a, 100]]), maxTokens: 1 };
    const text = "llama ".repeat(60);
    const events = await run(model, ask(text, { echo: true, topLogprobs: 1, ...onlyA }));
    const parts = events.flatMap((event) =>
      event.type === "text" && event.echoed === true ? [event] : [],
    );
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.map((part) => part.text)).toEqual([text, ...parts.slice(1).map(() => "")]);
    const sizes = parts.map(({ logprobs }) => logprobs?.length ?? 0);
    expect(sizes.slice(0, -1)).toEqual(sizes.slice(1).map(() => 256));
    const { promptTokens } = finishOf(events).usage;
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(promptTokens);
    const all = parts.flatMap(({ logprobs }) => logprobs ?? []);
    expect(all.slice(1).every(({ logprob, top }) => logprob < 0 && top.length === 1)).toBe(true);
    expect(events.findIndex((event) => event.type === "text" && event.echoed !== true)).toBe(
      parts.length,
    );
  });

  test("of several prompts at once, beside an answer, are the same as alone", async () => {
    const alone = (await echoed({ maxTokens: 0 })).logprobs;
    const beside = run(model, ask("Something else", { maxTokens: 60 }));
    const all = await Promise.all([echoed({ maxTokens: 0 }), echoed({ maxTokens: 0 }), beside]);
    for (const { logprobs } of all.slice(0, 2).filter((one) => "logprobs" in one)) {
      expect(logprobs).toHaveLength(alone.length);
      for (const [at, { logprob }] of logprobs.entries()) {
        expect(logprob).toBeCloseTo(alone[at]?.logprob ?? 0, 2);
      }
    }
  });
});

describe("filling in the middle", () => {
  test("puts the answer between the prompt and what follows it", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "coder.gguf");
    const { metadata, tensors } = tinyLlama();
    const id = (value: number) => ({ type: "uint32", value }) as const;
    // "ing", "tion" and "▁of" stand for what a coder's vocabulary has tokens of its own for.
    const [prefix, suffix, middle] = [358, 359, 357];
    const fim = {
      "tokenizer.ggml.fim_pre_token_id": id(prefix),
      "tokenizer.ggml.fim_suf_token_id": id(suffix),
      "tokenizer.ggml.fim_mid_token_id": id(middle),
    };
    await save(path, { metadata: { ...metadata, ...fim }, tensors });
    await using model = await tinyChatModel({ path });
    const filled = await run(model, ask("A", { suffix: "A" }));
    const parts = [begin, prefix, space, a, suffix, space, a, middle];
    expect(finishOf(filled).usage.promptTokens).toBe(parts.length);
    expect(textOf(filled)).toBe(textOf(await run(model, ask(parts))));
    const echoed = await run(model, ask("A", { suffix: "A", echo: true }));
    expect(textOf(echoed)).toBe(`A${textOf(filled)}`);
  });

  test("is refused by a model that was not made for it, with what to do", async () => {
    await using model = await tinyChatModel();
    expect(await rejectionOf(run(model, ask("A", { suffix: "A" })))).toMatchObject({
      kind: "invalid_request",
      param: "suffix",
      message: expect.stringContaining("leave 'suffix' out"),
    });
  });
});
