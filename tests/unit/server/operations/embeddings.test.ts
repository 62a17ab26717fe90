import { expect, test } from "bun:test";
import { toEmbeddingListJson } from "../../../../src/server/operations/embeddings.ts";

test("an answer of many vectors is written in slices, and others get their turn between", async () => {
  const vector = Float32Array.from({ length: 1024 }, (_, at) => at / 7);
  const embeddings = Array.from({ length: 320 }, () => ({ vector, tokens: 2 }));
  let turns = 0;
  let isDone = false;
  const turn = (): void => {
    turns++;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  const json = await toEmbeddingListJson({ model: "m", input: "x" }, { model: "m", embeddings });
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(10);
  expect(JSON.parse(json)).toEqual({
    object: "list",
    data: embeddings.map((_, index) => ({
      index,
      object: "embedding",
      embedding: Array.from(vector),
    })),
    model: "m",
    usage: { prompt_tokens: 640, completion_tokens: 0, total_tokens: 640 },
  });
});
