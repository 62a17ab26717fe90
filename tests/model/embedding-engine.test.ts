import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { EmbeddingModel } from "../../src/core/models/model.ts";
import type { Embedding } from "../../src/core/ports/embedding-engine.ts";
import { rejectionOf } from "../support/rejection.ts";
import { allPlaces, tinyEmbeddingModel } from "../support/tiny-engines.ts";
import { tinyEmbeddingContext, tinyEmbeddingDimension } from "../support/tiny-models.ts";

const { signal } = new AbortController();

const none = new Float32Array();

const similarity = (a: Float32Array = none, b: Float32Array = none): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);

const sum = (embeddings: readonly Embedding[]): number =>
  embeddings.reduce((total, { tokens }) => total + tokens, 0);

describe.each(allPlaces)("the embedding engine in %s", (place) => {
  let model: EmbeddingModel;
  beforeAll(async () => {
    model = await tinyEmbeddingModel({}, place);
  });
  afterAll(async () => {
    await model[Symbol.asyncDispose]();
  });

  test("says once that a request leaves the queue", async () => {
    let started = 0;
    await model.engine.embed(["a", "b", "c"], { signal, onStart: () => started++ });
    expect(started).toBe(1);
  });

  test("gives vectors of unit length and the model's dimension", async () => {
    const [embedding] = await model.engine.embed(["hello there"], { signal });
    expect(model.engine.dimension).toBe(tinyEmbeddingDimension);
    expect(embedding?.vector).toHaveLength(tinyEmbeddingDimension);
    expect(similarity(embedding?.vector, embedding?.vector)).toBeCloseTo(1, 5);
  });

  test("answers in input order, each as it is alone, whatever runs beside it", async () => {
    const texts = Array.from({ length: 40 }, (_, at) => "abc".repeat((at % 7) + 1) + at);
    const alone = await model.engine.embed([texts[33] ?? ""], { signal });
    const [together, others] = await Promise.all([
      model.engine.embed(texts, { signal }),
      model.engine.embed(texts.toReversed(), { signal }),
    ]);
    expect(similarity(together[33]?.vector, alone[0]?.vector)).toBeCloseTo(1, 5);
    expect(sum(others)).toBe(sum(together));
    // A server elsewhere counts all texts of a request together.
    if (place !== "another node") {
      expect(others.map(({ tokens }) => tokens)).toEqual(
        together.map(({ tokens }) => tokens).toReversed(),
      );
    }
    for (const [index, { vector }] of together.entries()) {
      expect(similarity(vector, others[39 - index]?.vector)).toBeCloseTo(1, 5);
    }
  });

  test.if(place !== "another node")("counts tokens with the model's own markers", async () => {
    expect(await model.engine.countTokens(["abc"])).toEqual([5]);
  });

  test("counts nothing in a text that it cannot read", async () => {
    expect(await model.engine.countTokens(["  \n "])).toEqual([0]);
  });

  test("takes a text of exactly the context's size", async () => {
    const text = "a".repeat(tinyEmbeddingContext - 2);
    const counts = model.engine.estimatesTokens !== true;
    if (counts) expect(await model.engine.countTokens([text])).toEqual([model.engine.maxTokens]);
    const [embedding] = await model.engine.embed([text], { signal });
    expect(embedding?.tokens).toBe(tinyEmbeddingContext);
  });

  test("refuses a text that is longer than its context, and goes on", async () => {
    const longer = "a".repeat(tinyEmbeddingContext - 1);
    expect(await rejectionOf(model.engine.embed(["a", longer], { signal }))).toMatchObject({
      message: expect.stringContaining(String(tinyEmbeddingContext)),
    });
    expect(await model.engine.embed(["a"], { signal })).toHaveLength(1);
  });

  test("can be unloaded while it is at work", async () => {
    const other = await tinyEmbeddingModel({}, place);
    const texts = Array.from({ length: 2000 }, (_, at) => `text ${at}`);
    const started = Promise.withResolvers<void>();
    const onStart = () => started.resolve();
    const embedding = rejectionOf(other.engine.embed(texts, { signal, onStart }));
    await started.promise;
    await other[Symbol.asyncDispose]();
    expect(await embedding).toMatchObject({ kind: "unavailable" });
  });

  test("stops at an aborted signal", async () => {
    const aborted = AbortSignal.abort(new Error("gone"));
    expect(await rejectionOf(model.engine.embed(["a", "b"], { signal: aborted }))).toMatchObject({
      message: expect.stringContaining("gone"),
    });
    expect(await model.engine.embed(["a"], { signal })).toHaveLength(1);
  });
});
