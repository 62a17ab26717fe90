/** Texts far longer than a model takes: refused for their length, and never at the cost of others. */
import { afterAll, describe, expect, test } from "bun:test";
import type { LlamaModel } from "node-llama-cpp";
import { LoopYield, SlicedTokenizer } from "../../src/engine/tokenizer/sliced-tokenizer.ts";
import { greedy } from "../support/greedy.ts";
import { rejectionOf } from "../support/rejection.ts";
import { places, testBackend, tinyChatModel, tinyEmbeddingModel } from "../support/tiny-engines.ts";
import { tinyModels } from "../support/tiny-models.ts";

const { signal } = new AbortController();
/** In one piece they take quadratic time: hours. */
const newlines = "\n".repeat(4_000_000);
const said = (content: string) => [{ role: "user", content }] as const;

describe.each(places)("a model in %s", (place) => {
  test("refuses a conversation that cannot fit, by its bytes", async () => {
    await using model = await tinyChatModel({}, place);
    const { engine } = model;
    const asked = { messages: said(newlines), sampling: greedy };
    expect(await rejectionOf(Array.fromAsync(engine.generate(asked, { signal })))).toMatchObject({
      kind: "context_length_exceeded",
      subject: { part: "messages" },
      message: expect.stringContaining("The messages have more than 256 tokens"),
    });
    expect(await engine.countTokens(said(newlines), [], { signal })).toBe(Number.POSITIVE_INFINITY);
    expect(await engine.countTokens(said("Hello"), [], { signal })).toBeLessThan(256);
  });

  test("does not count an input for embedding that cannot fit", async () => {
    await using model = await tinyEmbeddingModel({}, place);
    const long = "many words ".repeat(400_000);
    const [short, infinite] = await model.engine.countTokens(["abc", long], { signal });
    expect([short, infinite]).toEqual([5, Number.POSITIVE_INFINITY]);
  });
});

describe("a long text that may fit", () => {
  let model: LlamaModel | undefined;
  afterAll(async () => await model?.dispose());

  async function tokenizer(): Promise<{ model: LlamaModel; sliced: SlicedTokenizer }> {
    const { llama } = await testBackend();
    model ??= await llama.loadModel({ modelPath: (await tinyModels()).chat });
    return { model, sliced: new SlicedTokenizer(model) };
  }
  const most = Number.POSITIVE_INFINITY;

  test("has the tokens that it has in one piece", async () => {
    const { model, sliced } = await tokenizer();
    const text = "Llamas hum, bees buzz; 17 of them.\nA paddock has a gate.\t\n\n ".repeat(1000);
    const tokens = await sliced.tokens(text, { most, loop: new LoopYield() });
    expect(tokens).toEqual(model.tokenize(text));
  });

  test("lets others have turns while it is tokenised, and ends when nobody wants it", async () => {
    const { sliced } = await tokenizer();
    const gone = new AbortController();
    let turns = 0;
    const count = (): void => {
      turns++;
      if (turns === 3) gone.abort(new Error("left"));
      else setImmediate(count);
    };
    setImmediate(count);
    const tokens = sliced.tokens(newlines, { most, loop: new LoopYield(gone.signal) });
    expect(await rejectionOf(tokens)).toMatchObject({ message: "left" });
  });

  test("is not read further than the tokens that are wanted", async () => {
    const { sliced } = await tokenizer();
    const words = "word ".repeat(2_000_000);
    const many = words.length;
    expect(await sliced.tokens(words, { most: many / 100, loop: new LoopYield() })).toBe(undefined);
  });
});
