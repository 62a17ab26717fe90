import { describe, expect, test } from "bun:test";
import { startLlamaServer } from "../../bench/llama-server.ts";
import { findPeer } from "../../bench/peer-location.ts";
import type { Reranker } from "../../src/core/ports/reranker.ts";
import { loadReranker } from "../../src/engine/reranker.ts";
import { openUpstreamReranker } from "../../src/upstream/open-upstream.ts";
import { rejectionOf } from "../support/rejection.ts";
import { silentProgress } from "../support/silence.ts";
import { testBackend } from "../support/tiny-engines.ts";
import { tinyEmbeddingContext, tinyModels } from "../support/tiny-models.ts";
import { targetAt } from "../support/upstream-target.ts";

const { signal } = new AbortController();

/** The program is there where it was built for the benchmark. */
const folder = await findPeer((why) => console.warn(`llama-server is not tested: ${why}`));

const rerankers = [
  [
    "in this process",
    async (): Promise<Reranker> => {
      const { reranker } = await tinyModels();
      return await loadReranker(await testBackend(), reranker, silentProgress);
    },
  ],
  ...(folder === undefined ? [] : ([["of llama-server", () => serverReranker(folder)]] as const)),
] as const;

/** Disposing it ends its server. */
async function serverReranker(program: string): Promise<Reranker> {
  const { reranker: model } = await tinyModels();
  await using resources = new AsyncDisposableStack();
  const server = resources.use(
    await startLlamaServer({
      folder: program,
      model,
      threads: 1,
      // One at a time: what it computes together differs in the fourth place.
      arguments: ["--reranking", "--parallel", 1, "--ctx-size", tinyEmbeddingContext],
    }),
  );
  const reranker = resources.use(openUpstreamReranker(targetAt(server.baseUrl).target));
  const owned = resources.move();
  return {
    rank: (...asked) => reranker.rank(...asked),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

describe.each(rerankers)("the reranking engine %s", (_, tinyReranker) => {
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
});

test("a reranker is refused for a model that does not rank, with what to do", async () => {
  const { embedding } = await tinyModels();
  const loading = loadReranker(await testBackend(), embedding, silentProgress);
  expect(await rejectionOf(loading)).toMatchObject({
    kind: "unavailable",
    message: expect.stringMatching(
      /^The reranking model cannot be loaded: .*\[retrieval\] reranker/,
    ),
  });
});
