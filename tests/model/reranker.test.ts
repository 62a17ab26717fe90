import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startLlamaServer } from "../../bench/servers/llama-server.ts";
import { findPeer } from "../../bench/servers/peer-location.ts";
import type { RerankingModel } from "../../src/core/models/model.ts";
import { rejectionOf } from "../support/rejection.ts";
import { skipUnless } from "../support/skip-reason.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyRerankingModel } from "../support/tiny-engines.ts";
import { save, tinyEmbeddingContext, tinyModels, tinyReranker } from "../support/tiny-models.ts";
import { openFarReranker, targetAt } from "../support/upstream.ts";

const { signal } = new AbortController();

/** The program is there where it was built for the benchmark. */
const folder = await findPeer((why) => skipUnless(false, why));

const rerankers = [
  ["in this process", () => tinyRerankingModel()],
  ["in a process of its own", () => tinyRerankingModel({}, "a process of its own")],
  ...(folder === undefined ? [] : ([["of llama-server", () => serverReranker(folder)]] as const)),
] as const;

/** Disposing it ends its server. */
async function serverReranker(program: string): Promise<RerankingModel> {
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
  const opened = resources.use(await openFarReranker(targetAt(server.baseUrl).target));
  const owned = resources.move();
  return { ...opened, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

describe.each(rerankers)("the reranking engine %s", (_, open) => {
  let model: RerankingModel;
  beforeAll(async () => {
    model = await open();
  });
  afterAll(async () => {
    await model[Symbol.asyncDispose]();
  });

  test("judges each passage as it does alone, from 0 to 1, in their order", async () => {
    const { engine } = model;
    const passages = Array.from({ length: 12 }, (_, at) => `passage ${"abc".repeat(at + 1)}`);
    const { scores: together, tokens } = await engine.rank("a question", passages, { signal });
    expect(new Set(together.map((score) => score.toFixed(4))).size).toBeGreaterThan(6);
    let sum = 0;
    for (const [at, passage] of passages.entries()) {
      const { scores, tokens: own } = await engine.rank("a question", [passage], { signal });
      const [alone] = scores;
      sum += own;
      expect(alone).toBeCloseTo(together[at] ?? -1, 4);
      expect(alone).toBeGreaterThanOrEqual(0);
      expect(alone).toBeLessThanOrEqual(1);
    }
    expect(tokens).toBe(sum);
  });

  test("judges by the question too", async () => {
    const ask = async (question: string) =>
      (await model.engine.rank(question, ["a passage"], { signal })).scores[0];
    expect(await ask("one")).not.toBeCloseTo((await ask("something else entirely")) ?? 0, 3);
  });

  test("takes passages that are longer than its context, and questions that it may cut", async () => {
    const { engine } = model;
    const long = "many words ".repeat(60);
    const cut = await engine.rank(long, [long, "short"], { signal, cutsQuestion: true });
    expect(cut.scores).toEqual([expect.any(Number), expect.any(Number)]);
    const none = await engine.rank("none", [], { signal });
    expect(none).toEqual({ scores: [], tokens: 0 });
  });

  test("refuses a question that leaves passages no room", async () => {
    const asked = model.engine.rank("many words ".repeat(60), ["short"], { signal });
    expect(await rejectionOf(asked)).toMatchObject({
      kind: "context_length_exceeded",
      param: "query",
      message: expect.stringMatching(
        /^'query' has more than \d+ tokens, which is what this reranking model takes/,
      ),
    });
  });

  test("reads no more of a passage than it is told to", async () => {
    const { engine } = model;
    const rank = async (passage: string, maxPassageTokens?: number) =>
      await engine.rank("q", [passage], {
        signal,
        ...(maxPassageTokens === undefined ? {} : { maxPassageTokens }),
      });
    const whole = await rank("a b c d e f g h i j k l m n o p");
    const cut = await rank("a b c d e f g h i j k l m n o p", 6);
    expect(cut.tokens).toBeLessThan(whole.tokens);
    expect(cut.scores[0]).not.toBeCloseTo(whole.scores[0] ?? 0, 4);
  });

  test("ends what it computes for a caller who leaves amid it, and serves the next", async () => {
    const { engine } = model;
    const leave = new AbortController();
    const asked = engine.rank("q", new Array<string>(1000).fill("many words here"), {
      signal: leave.signal,
      onStart: () => leave.abort(new Error("left")),
    });
    expect(await rejectionOf(asked)).toMatchObject({ message: "left" });
    expect((await engine.rank("q", ["a"], { signal })).scores).toHaveLength(1);
  });

  test("stops when its caller leaves", async () => {
    const left = AbortSignal.abort(new Error("left"));
    expect(await rejectionOf(model.engine.rank("q", ["a"], { signal: left }))).toMatchObject({
      message: "left",
    });
  });
});

test("the best part of a long passage counts, and every part is counted", async () => {
  await using model = await tinyRerankingModel();
  const { engine } = model;
  const half = engine.maxTokens / 2;
  const [start, end] = ["a ".repeat(half), "z ".repeat(half * 2)];
  const { scores: parts } = await engine.rank("q", [start, end], { signal });
  const { scores, tokens } = await engine.rank("q", [start + end], { signal });
  expect(scores[0]).toBeGreaterThanOrEqual(Math.max(...parts) - 0.05);
  expect(tokens).toBeGreaterThan(half * 3);
});

test("a template may repeat the question or the passage: both fit, or it is refused", async () => {
  await using folder = await tempDir();
  const rank = async (template: string, question: string, passage: string) => {
    const path = join(folder.path, `${template.length}.gguf`);
    await save(path, tinyReranker(template));
    await using model = await tinyRerankingModel({ path });
    return await model.engine.rank(question, [passage], { signal });
  };
  const twice = "{query} q {document} d {query}";
  expect((await rank(twice, "a".repeat(20), "z".repeat(100))).scores).toHaveLength(1);
  expect(await rejectionOf(rank(twice, "a".repeat(32), "z"))).toMatchObject({
    kind: "context_length_exceeded",
    param: "query",
  });
  const { tokens } = await rank("{query} q {document} document {document}", "a", "z".repeat(100));
  expect(tokens).toBeGreaterThan(2 * 100);
});

test("requests are served in turn: a short one does not wait for all of a long one", async () => {
  await using model = await tinyRerankingModel();
  const { engine } = model;
  const ended: string[] = [];
  const long = engine.rank("q", new Array<string>(400).fill("many words here"), { signal });
  const short = engine.rank("q", ["one"], { signal });
  await Promise.all([long.then(() => ended.push("long")), short.then(() => ended.push("short"))]);
  expect(ended).toEqual(["short", "long"]);
});

test("a model that does not rank is refused, with the reason", async () => {
  const { embedding: path } = await tinyModels();
  expect(await rejectionOf(tinyRerankingModel({ path }))).toMatchObject({
    kind: "unavailable",
    message: expect.stringMatching(/^The model 'tiny' cannot be loaded: .*rank/i),
  });
});
