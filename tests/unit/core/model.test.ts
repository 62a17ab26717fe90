import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../src/core/errors.ts";
import { type LoadedModel, ModelRegistry } from "../../../src/core/model.ts";
import { ScriptedChatEngine, ScriptedEmbeddingEngine } from "../../support/scripted-engines.ts";
import { card } from "../../support/test-app.ts";

const chatModel: LoadedModel = {
  type: "chat",
  card: card("talker", "chat"),
  engine: new ScriptedChatEngine(),
  fingerprint: "fp_1",
  [Symbol.asyncDispose]: async () => {},
};
const embeddingModel: LoadedModel = {
  type: "embedding",
  card: card("mapper", "embedding"),
  engine: new ScriptedEmbeddingEngine(),
  fingerprint: "fp_2",
  [Symbol.asyncDispose]: async () => {},
};

function registry(...loaded: LoadedModel[]): ModelRegistry {
  const models = new ModelRegistry([
    { name: "talker", type: "chat" },
    { name: "mapper", type: "embedding" },
  ]);
  for (const model of loaded) models.add(model);
  return models;
}

function refusal(ask: () => unknown): Pick<NodeError, "kind" | "message" | "param"> {
  try {
    ask();
  } catch (error) {
    if (error instanceof NodeError) {
      return { kind: error.kind, message: error.message, param: error.param };
    }
    throw error;
  }
  throw new Error("It was answered");
}

describe("the models of a node", () => {
  test("are listed in the order of the configuration, whichever was ready first", () => {
    const models = registry(embeddingModel, chatModel);
    expect(models.cards()).toEqual([chatModel.card, embeddingModel.card]);
  });

  test("are listed and found only once they are ready", () => {
    const models = registry(embeddingModel);
    expect(models.cards()).toEqual([embeddingModel.card]);
    expect(models.pending()).toEqual(["talker"]);
    models.add(chatModel);
    expect(models.pending()).toEqual([]);
    expect<unknown>(models.chat("talker")).toBe(chatModel);
    expect<unknown>(models.embedding("mapper")).toBe(embeddingModel);
    expect([models.card("talker"), models.card("mapper")]).toEqual([
      chatModel.card,
      embeddingModel.card,
    ]);
  });
});

describe("a model that is asked for", () => {
  test("is not on the node", () => {
    const models = registry(chatModel, embeddingModel);
    expect(refusal(() => models.chat("nobody"))).toEqual({
      kind: "model_not_found",
      message: "The model 'nobody' is not on this node. The chat models of this node are: talker.",
      param: "model",
    });
    expect(refusal(() => models.card("nobody"))).toEqual({
      kind: "model_not_found",
      message: "The model 'nobody' is not on this node. Its models are: talker, mapper.",
      param: "model",
    });
  });

  test("is of the other type", () => {
    const models = registry(chatModel, embeddingModel);
    expect(refusal(() => models.chat("mapper"))).toEqual({
      kind: "model_not_found",
      message:
        "The model 'mapper' is a model of type 'embedding'. The chat models of this node are: talker.",
      param: "model",
    });
    expect(refusal(() => models.embedding("talker"))).toMatchObject({
      kind: "model_not_found",
      message: expect.stringContaining("The embedding models of this node are: mapper."),
    });
  });

  test("is of a type that the node has none of", () => {
    const models = new ModelRegistry([{ name: "mapper", type: "embedding" }]);
    expect(refusal(() => models.chat("talker")).message).toBe(
      "The model 'talker' is not on this node. This node has no chat model.",
    );
  });

  test("is not ready yet, which is told apart from not being there", () => {
    for (const ask of [
      () => registry().chat("talker"),
      () => registry().card("talker"),
      () => registry().embedding("mapper"),
    ]) {
      expect(refusal(ask)).toMatchObject({ kind: "model_not_ready", param: "model" });
    }
  });

  test("has a name that every object knows", () => {
    expect(refusal(() => registry().chat("constructor")).kind).toBe("model_not_found");
  });
});
