import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ChatModel, EmbeddingModel } from "../../src/core/models/model.ts";
import type { Tokenizer, TokenizerInput } from "../../src/core/ports/tokenizer.ts";
import { greedy } from "../support/greedy.ts";
import { rejectionOf } from "../support/rejection.ts";
import { allPlaces, tinyChatModel, tinyEmbeddingModel } from "../support/tiny-engines.ts";

const options = { signal: new AbortController().signal };
const plain = { addSpecial: false, parseSpecial: true } as const;

const known = (tokenizer: Tokenizer | undefined): Tokenizer => {
  if (tokenizer === undefined) throw new Error("The model has no tokenizer");
  return tokenizer;
};

const ids = async (tokenizer: Tokenizer, input: TokenizerInput): Promise<number[]> => [
  ...((await tokenizer.tokenize(input, options))?.tokens ?? []),
];

describe.each(allPlaces)("the tokenizer of a model in %s", (place) => {
  let chat: ChatModel;
  let embedding: EmbeddingModel;
  beforeAll(async () => {
    chat = await tinyChatModel({}, place);
    embedding = await tinyEmbeddingModel({}, place);
  });
  afterAll(async () => {
    await chat[Symbol.asyncDispose]();
    await embedding[Symbol.asyncDispose]();
  });

  test.each([
    "Hello",
    " two  spaces ",
    "a\nb\r\n\tc",
    "🦙🏽 and 👩‍👩‍👧",
    "日本語、한국어, עברית",
    "<s>not the beginning</s>",
    "e\u0301\u0000",
    "",
    " ",
    "word ".repeat(150),
  ])("gives %j back as it was", async (text) => {
    const tokenizer = known(chat.engine.tokenizer);
    const tokens = await ids(tokenizer, { text, ...plain });
    expect(await tokenizer.detokenize(tokens, options)).toBe(text);
  });

  test("adds what the model wants around a text, where it is asked to", async () => {
    const tokenizer = known(chat.engine.tokenizer);
    const bare = await ids(tokenizer, { text: "A A", ...plain });
    expect(bare).toEqual([353, 291, 353, 291]);
    expect(await ids(tokenizer, { text: "A A", ...plain, addSpecial: true })).toEqual([1, ...bare]);
    expect(await tokenizer.detokenize([1, ...bare, 2], options)).toBe("<s>A A</s>");
  });

  test("counts special tokens as such, or as their letters", async () => {
    const tokenizer = known(chat.engine.tokenizer);
    expect(await ids(tokenizer, { text: "</s>", ...plain })).toEqual([2]);
    const letters = await ids(tokenizer, { text: "</s>", ...plain, parseSpecial: false });
    expect(letters).toHaveLength(5);
    expect(await tokenizer.detokenize(letters, options)).toBe("</s>");
  });

  test("has the tokens of a conversation as its prompt has them", async () => {
    const messages = [{ role: "user", content: "Hello" }] as const;
    const tokens = await ids(known(chat.engine.tokenizer), { messages });
    const request = { messages, sampling: greedy, maxTokens: 1 };
    const events = await Array.fromAsync(chat.engine.generate(request, options));
    expect(events.at(-1)).toMatchObject({ usage: { promptTokens: tokens.length } });
  });

  test("writes each token as the vocabulary has it", async () => {
    const found = await known(chat.engine.tokenizer).tokenize(
      { text: "a é", ...plain, pieces: "vocabulary" },
      options,
    );
    expect(found?.pieces).toEqual(["\u2581a", "\u2581", "<0xC3>", "<0xA9>"]);
  });

  test("knows an embedding model's markers", async () => {
    const tokenizer = known(embedding.engine.tokenizer);
    const [cls, ab, sep] = [2, await ids(tokenizer, { text: "a b", ...plain }), 3];
    expect(ab).toHaveLength(2);
    expect(await ids(tokenizer, { text: "a b", ...plain, addSpecial: true })).toEqual([
      cls,
      ...ab,
      sep,
    ]);
    expect(await tokenizer.detokenize(ab, options)).toBe("a b");
    const messages = [{ role: "user", content: "a" }] as const;
    expect(await rejectionOf(tokenizer.tokenize({ messages }, options))).toMatchObject({
      kind: "invalid_request",
      subject: { part: "messages" },
    });
  });

  test("refuses tokens that there are not, and more than it would ever have made", async () => {
    const tokenizer = known(chat.engine.tokenizer);
    expect(await rejectionOf(tokenizer.detokenize([5, 99_999], options))).toMatchObject({
      param: "tokens",
      message: expect.stringContaining("99999"),
    });
    const many = Array.from({ length: 4 * chat.engine.contextSize + 1 }, () => 5);
    expect(await rejectionOf(tokenizer.detokenize(many, options))).toMatchObject({
      kind: "invalid_request",
      param: "tokens",
    });
  });
});

describe("the tokenizer in this process", () => {
  test("gives every text back as it was", async () => {
    await using model = await tinyChatModel();
    const tokenizer = known(model.engine.tokenizer);
    const texts = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 40 }),
      fc.string({ unit: "binary", maxLength: 40 }),
      fc
        .array(fc.constantFrom("</s>", "<s>", " ", "  ", "a", "\n", "🦙", "é", "<"), {
          maxLength: 12,
        })
        .map((parts) => parts.join("")),
    );
    await fc.assert(
      fc.asyncProperty(texts, fc.boolean(), async (text, parseSpecial) => {
        // The vocabulary itself writes a space as U+2581, so that it cannot tell the two apart.
        fc.pre(text.isWellFormed() && !text.includes("\u2581"));
        const tokens = await ids(tokenizer, { text, addSpecial: false, parseSpecial });
        expect(await tokenizer.detokenize(tokens, options)).toBe(text);
      }),
      { numRuns: 100, seed: 20261116 },
    );
  });

  test("does not count a text of many times the context to its end", async () => {
    await using model = await tinyChatModel();
    const tokenizer = known(model.engine.tokenizer);
    const { contextSize } = model.engine;
    const within = { text: "A".repeat(contextSize), ...plain };
    expect(await ids(tokenizer, within)).toHaveLength(contextSize + 1);
    const text = "A".repeat(5 * contextSize);
    expect(await tokenizer.tokenize({ text, ...plain }, options)).toBeUndefined();
  });

  test("has pieces as texts, and as bytes where they are no whole character", async () => {
    await using model = await tinyChatModel();
    const input = { text: "a é", ...plain, pieces: "text" } as const;
    const found = await known(model.engine.tokenizer).tokenize(input, options);
    expect(found?.pieces).toEqual([" a", " ", [0xc3], [0xa9]]);
  });
});
