import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../../src/core/errors.ts";
import type { LoadedModel } from "../../../../src/core/models/model.ts";
import { ModelRegistry } from "../../../../src/core/models/model-registry.ts";
import { ScriptedChatEngine, ScriptedEmbeddingEngine } from "../../../support/scripted-engines.ts";
import { chatModel, embeddingModel } from "../../../support/test-models.ts";

const talker: LoadedModel = chatModel("talker", new ScriptedChatEngine());
const mapper: LoadedModel = embeddingModel("mapper", new ScriptedEmbeddingEngine());

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
    const models = registry(mapper, talker);
    expect(models.cards()).toEqual([talker.card, mapper.card]);
  });

  test("are listed and found only once they are ready", () => {
    const models = registry(mapper);
    expect(models.cards()).toEqual([mapper.card]);
    expect(models.problems()).toEqual(["The model 'talker' is being prepared."]);
    models.add(talker);
    expect(models.problems()).toEqual([]);
    expect<unknown>(models.chat("talker")).toBe(talker);
    expect<unknown>(models.embedding("mapper")).toBe(mapper);
    expect([models.card("talker"), models.card("mapper")]).toEqual([talker.card, mapper.card]);
  });
});

describe("a model whose server refuses the node's own question", () => {
  test("is refused with the reason, and with no field of the caller's request", () => {
    const models = registry();
    const reason = "Its server does not take 'max_tokens'.";
    models.unavailable("talker", new NodeError("invalid_request", reason, { param: "max_tokens" }));
    expect(refusal(() => models.chat("talker"))).toEqual({
      kind: "invalid_request",
      message: reason,
      param: undefined,
    });
  });
});

describe("a model that failed after it was ready", () => {
  test("says why it cannot answer", () => {
    const models = registry(mapper, { ...talker, problem: () => "It fell over." });
    expect(models.problems()).toEqual(["It fell over."]);
  });
});

describe("a model that is asked for", () => {
  test("is not on the node", () => {
    const models = registry(talker, mapper);
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
    const models = registry(talker, mapper);
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
