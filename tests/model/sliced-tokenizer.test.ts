import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { LlamaModel } from "node-llama-cpp";
import { LoopYield, SlicedTokenizer } from "../../src/engine/tokenizer/sliced-tokenizer.ts";
import { testBackend } from "../support/tiny-engines.ts";
import { tinyModels } from "../support/tiny-models.ts";

let model: LlamaModel;

beforeAll(async () => {
  const { llama } = await testBackend();
  model = await llama.loadModel({ modelPath: (await tinyModels()).chat });
});
afterAll(async () => {
  await model.dispose();
});

describe("the tokens of a raw text", () => {
  const budget = { most: 100_000, loop: new LoopYield() };
  const words = "The llama hums while it walks up the hill. ".repeat(400);

  test.each([
    ["with special tokens", "<s>Hello</s> there</s>\n\n<unk>!"],
    ["that almost has them", "<s</s <<s> </s"],
    ["of several slices", words],
    ["of several slices, with special tokens", `${words}</s>${words}</s>`],
    ["without spaces, with a special token in every slice", `${"x".repeat(8190)}</s>`.repeat(3)],
  ])("%s are llama.cpp's own", async (_, text) => {
    const tokens = await new SlicedTokenizer(model).tokens(text, budget, true);
    expect(tokens).toEqual(model.tokenize(text, true));
  });

  test.each([
    ["with special tokens", "<s>Hello</s>"],
    ["of several slices", words],
  ])("%s that do not count are llama.cpp's own", async (_, text) => {
    const tokens = await new SlicedTokenizer(model).tokens(text, budget);
    expect(tokens).toEqual(model.tokenize(text, false));
  });

  test("of line breaks in several slices stand for the same text", async () => {
    const text = "\n".repeat(20_000);
    const tokens = await new SlicedTokenizer(model).tokens(text, budget, true);
    expect(model.detokenize(tokens ?? [])).toBe(text);
  });
});
