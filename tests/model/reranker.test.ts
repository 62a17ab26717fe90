import { describe, expect, test } from "bun:test";
import { loadReranker } from "../../src/engine/reranker.ts";
import { rejectionOf } from "../support/rejection.ts";
import { silentProgress } from "../support/silence.ts";
import { testBackend } from "../support/tiny-engines.ts";
import { tinyModels } from "../support/tiny-models.ts";

const { signal } = new AbortController();

async function tinyReranker() {
  const { reranker } = await tinyModels();
  return await loadReranker(await testBackend(), reranker, silentProgress);
}

describe("the reranking engine", () => {
  test("judges each passage as it does alone, from 0 to 1, in their order", async () => {
    await using reranker = await tinyReranker();
    const passages = Array.from({ length: 12 }, (_, at) => `passage ${"abc".repeat(at + 1)}`);
    const together = await reranker.rank("a question", passages, { signal });
    expect(new Set(together.map((score) => score.toFixed(4))).size).toBeGreaterThan(6);
    for (const [at, passage] of passages.entries()) {
      const [alone] = await reranker.rank("a question", [passage], { signal });
      expect(alone).toBeCloseTo(together[at] ?? -1, 4);
      expect(alone).toBeGreaterThanOrEqual(0);
      expect(alone).toBeLessThanOrEqual(1);
    }
  });

  test("judges by the question too", async () => {
    await using reranker = await tinyReranker();
    const ask = async (question: string) =>
      (await reranker.rank(question, ["a passage"], { signal }))[0];
    expect(await ask("one")).not.toBeCloseTo((await ask("something else entirely")) ?? 0, 3);
  });

  test("takes questions and passages that are longer than its context", async () => {
    await using reranker = await tinyReranker();
    const long = "many words ".repeat(60);
    expect(await reranker.rank(long, [long, "short"], { signal })).toEqual([
      expect.any(Number),
      expect.any(Number),
    ]);
    expect(await reranker.rank("none", [], { signal })).toEqual([]);
  });

  test("stops when its caller leaves", async () => {
    await using reranker = await tinyReranker();
    const left = AbortSignal.abort(new Error("left"));
    expect(await rejectionOf(reranker.rank("q", ["a"], { signal: left }))).toMatchObject({
      message: "left",
    });
  });

  test("is refused for a model that does not rank, with what to do", async () => {
    const { embedding } = await tinyModels();
    const loading = loadReranker(await testBackend(), embedding, silentProgress);
    expect(await rejectionOf(loading)).toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(
        /^The reranking model cannot be loaded: .*\[retrieval\] reranker/,
      ),
    });
  });
});
