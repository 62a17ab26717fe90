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
  const written = toEmbeddingListJson({ model: "m", input: "x" }, { model: "m", embeddings });
  if (typeof written === "string") throw new Error("A large answer is not in pieces");
  const json = (await Array.fromAsync(written)).join("");
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

test("an answer of many vectors is written no further than it is read", async () => {
  let made = 0;
  const embeddings = Array.from({ length: 320 }, () => ({
    get vector() {
      made++;
      return new Float32Array(4096).fill(0.3);
    },
    tokens: 2,
  }));
  const written = toEmbeddingListJson({ model: "m", input: "x" }, { model: "m", embeddings });
  for await (const piece of written) {
    expect(piece).toStartWith('{"object":"list"');
    break;
  }
  expect(made).toBeLessThan(10);
});

test("an answer of a few short vectors is one text", () => {
  const embeddings = [{ vector: Float32Array.of(1, 0), tokens: 2 }];
  const json = toEmbeddingListJson({ model: "m", input: "x" }, { model: "m", embeddings });
  expect(JSON.parse(String(json)).data).toEqual([
    { index: 0, object: "embedding", embedding: [1, 0] },
  ]);
});
