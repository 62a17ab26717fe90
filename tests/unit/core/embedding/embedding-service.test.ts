import { describe, expect, test } from "bun:test";
import { embedInputs } from "../../../../src/core/embedding/embedding-service.ts";
import { ModelRegistry } from "../../../../src/core/models/model-registry.ts";
import { ScriptedEmbeddingEngine } from "../../../support/scripted-engines.ts";
import { embeddingModel } from "../../../support/test-models.ts";

function service() {
  const engine = new ScriptedEmbeddingEngine();
  const models = new ModelRegistry([{ name: "mapper", type: "embedding" }]);
  models.add(embeddingModel("mapper", engine));
  const embed = (...texts: string[]) =>
    embedInputs(
      models,
      { model: "mapper", inputs: texts },
      { signal: new AbortController().signal },
    );
  return { engine, models, embed };
}

const words = (count: number): string => Array.from({ length: count }, () => "word").join(" ");

describe("embeddings", () => {
  test("come in the order of the texts, from the engine of the named model", async () => {
    const { engine, embed } = service();
    const { model, embeddings } = await embed("three", "a b");
    expect(model).toBe("mapper");
    expect(embeddings).toEqual(await engine.embed(["three", "a b"]));
    expect(embeddings.map(({ tokens }) => tokens)).toEqual([1, 2]);
  });

  test("are made of a text that just fits", async () => {
    const { embeddings } = await service().embed(words(8));
    expect(embeddings.map(({ tokens }) => tokens)).toEqual([8]);
  });
});

describe("a text that cannot be embedded", () => {
  test("has more token ids than the model takes, and is not even counted", async () => {
    const { engine, models } = service();
    engine.countTokens = () => Promise.reject(new Error("It was counted"));
    const inputs = [[1], Array.from({ length: 9 }, () => 1)];
    const { signal } = new AbortController();
    await expect(
      embedInputs(models, { model: "mapper", inputs }, { signal }),
    ).rejects.toMatchObject({
      kind: "context_length_exceeded",
      param: "input[1]",
    });
  });

  test("is empty, and is named before any text is computed", async () => {
    const { engine, embed } = service();
    await expect(embed("fine", "", "fine")).rejects.toMatchObject({
      kind: "invalid_request",
      message: "input[1] is an empty string; give it some text.",
      param: "input[1]",
    });
    expect(engine.requests).toEqual([]);
  });

  test("reads as nothing to the model", async () => {
    const { engine, embed } = service();
    engine.countTokens = async (inputs) => inputs.map(() => 0);
    await expect(embed("\t")).rejects.toMatchObject({ kind: "invalid_request", param: "input[0]" });
  });

  test("is over the model's context, and is named with its length", async () => {
    const { engine, embed } = service();
    await expect(embed("fine", "fine", words(9))).rejects.toMatchObject({
      kind: "context_length_exceeded",
      message: "input[2] has 9 tokens; this embedding model takes at most 8. Split the text.",
      param: "input[2]",
    });
    expect(engine.requests).toEqual([]);
  });

  test("is meant for a model that the node does not have", async () => {
    const { models } = service();
    const { signal } = new AbortController();
    await expect(
      embedInputs(models, { model: "nobody", inputs: ["a"] }, { signal }),
    ).rejects.toMatchObject({
      kind: "model_not_found",
    });
  });
});
