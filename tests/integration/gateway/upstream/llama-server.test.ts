import { describe, expect, test } from "bun:test";
import { chatArguments, startLlamaServer } from "../../../../bench/servers/llama-server.ts";
import { findPeer } from "../../../../bench/servers/peer-location.ts";
import type { GenerationEvent, GenerationRequest } from "../../../../src/core/ports/chat-engine.ts";
import { greedy } from "../../../support/greedy.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { skipUnless } from "../../../support/skip-reason.ts";
import {
  tinyEmbeddingContext,
  tinyEmbeddingDimension,
  tinyModels,
} from "../../../support/tiny-models.ts";
import {
  openFarChat,
  openFarEmbedding,
  openFarReranker,
  targetAt,
} from "../../../support/upstream.ts";

const { signal } = new AbortController();
const folder = await findPeer((why) => skipUnless(false, why));

const ask = (content: string, rest: Partial<GenerationRequest> = {}): GenerationRequest => ({
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content },
  ],
  sampling: greedy,
  maxTokens: 12,
  ...rest,
});

/** Leaves only tokens that are whole characters. */
const readable = new Map(Array.from({ length: 3 + 256 }, (_, id) => [id, -100]));

const textOf = (events: readonly GenerationEvent[]): string =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

async function startChat() {
  const { chat: model } = await tinyModels();
  const threads = 1;
  const server = await startLlamaServer({
    folder: folder ?? "",
    model,
    threads,
    arguments: chatArguments(2, 512),
  });
  const { target } = targetAt(server.baseUrl);
  return { server, model: await openFarChat(target) };
}

describe.skipIf(folder === undefined)("llama-server", () => {
  test("says its context, counts as it evaluates, and answers as it is asked to", async () => {
    const { server, model } = await startChat();
    await using _ = server;
    const { engine, card } = model;
    expect(card).toMatchObject({
      settings: { ctxSize: 512 },
      vision: false,
      upstream: { server: expect.stringMatching(/^llama-server b/), tokens: "counted" },
    });
    const run = (request: GenerationRequest) =>
      Array.fromAsync(engine.generate(request, { signal }));
    const hello = (rest: Partial<GenerationRequest> = {}) =>
      run(ask("Hello", { logitBias: readable, ...rest }));
    const events = await hello({ topLogprobs: 2 });
    const last = events.at(-1);
    if (last?.type !== "finish") throw new Error("The events do not end in a finish");
    expect(last.usage.promptTokens).toBe(await engine.countTokens(ask("Hello").messages));
    const logprobs = events.flatMap((event) =>
      event.type === "text" ? (event.logprobs ?? []) : [],
    );
    expect(logprobs.map(({ top }) => top.length)).toEqual(logprobs.map(() => 2));
    expect(textOf(await hello())).toBe(textOf(events));
    const [first] = logprobs;
    const stopped = await hello({ stop: [textOf(events).slice(2, 4)] });
    expect(textOf(stopped)).toBe(textOf(events).slice(0, 2));
    expect(first?.logprob).toBeLessThan(0);
  });

  test("keeps to a schema, to a seed and to a bias", async () => {
    const { server, model } = await startChat();
    await using _ = server;
    const run = async (request: GenerationRequest) =>
      textOf(await Array.fromAsync(model.engine.generate(request, { signal })));
    const schema = {
      type: "object",
      properties: { lamp: { enum: ["on", "off"] } },
      required: ["lamp"],
      additionalProperties: false,
    };
    const { maxTokens: _most, ...free } = ask("Lamp?", { format: { schema } });
    expect(JSON.parse(await run({ ...free, maxTokens: 200 }))).toEqual({
      lamp: expect.stringMatching(/^(on|off)$/),
    });
    const warm = { sampling: { ...greedy, temperature: 1 }, seed: 7, maxTokens: 20 };
    expect(await run(ask("Say", warm))).toBe(await run(ask("Say", warm)));
    // The only token that is not impossible is said again and again.
    const only = 3 + 256 + "x".charCodeAt(0) - 33;
    const logitBias = new Map([[only, 100]]);
    expect(await run(ask("Say", { logitBias, maxTokens: 5 }))).toBe("xxxxx");
  });

  test("refuses too long a prompt with both counts", async () => {
    const { server, model } = await startChat();
    await using _ = server;
    const long = Array.fromAsync(model.engine.generate(ask("x".repeat(2000)), { signal }));
    expect(await rejectionOf(long)).toMatchObject({
      kind: "context_length_exceeded",
      subject: { part: "messages" },
      message: expect.stringMatching(
        /\(20\d\d tokens\) exceeds the available context size \(512 tokens\)/,
      ),
    });
  });

  test("embeds, and counts the tokens of texts", async () => {
    const { embedding: model } = await tinyModels();
    const size = tinyEmbeddingContext;
    await using server = await startLlamaServer({
      folder: folder ?? "",
      model,
      threads: 1,
      arguments: ["--embeddings", "--pooling", "mean", "--parallel", 1, "--ctx-size", size],
    });
    await using far = await openFarEmbedding(targetAt(server.baseUrl).target);
    const { engine } = far;
    expect([engine.dimension, engine.maxTokens]).toEqual([tinyEmbeddingDimension, size]);
    expect(await engine.countTokens(["abc", "a"])).toEqual([5, 3]);
    const [one, two] = await engine.embed(["hello there", "hello there"], { signal });
    expect(one?.vector).toEqual(two?.vector ?? new Float32Array());
    expect(Math.hypot(...(one?.vector ?? []))).toBeCloseTo(1, 5);
  });

  test("ranks, from 0 to 1", async () => {
    const { reranker: model } = await tinyModels();
    await using server = await startLlamaServer({
      folder: folder ?? "",
      model,
      threads: 1,
      arguments: ["--reranking", "--parallel", 1, "--ctx-size", tinyEmbeddingContext],
    });
    await using far = await openFarReranker(targetAt(server.baseUrl).target);
    const { engine } = far;
    const passages = ["abc", "something else", "a", "zz top"];
    const { scores, tokens } = await engine.rank("a question", passages, { signal });
    expect([far.card.upstream?.tokens, tokens > 40]).toEqual(["counted", true]);
    expect(scores).toHaveLength(4);
    for (const score of scores) expect(score).toBeWithin(0, 1.000001);
    const long = "many words ".repeat(60);
    const cut = await engine.rank(long, [long, "short"], { signal, cutsQuestion: true });
    expect(cut.scores).toHaveLength(2);
    const refused = engine.rank(long, ["short"], { signal });
    expect(await rejectionOf(refused)).toMatchObject({
      kind: "context_length_exceeded",
      param: "query",
    });
    const few = await engine.rank("a", ["abc abc abc"], { signal, maxPassageTokens: 4 });
    expect(few.tokens).toBeLessThan((await engine.rank("a", ["abc abc abc"], { signal })).tokens);
    expect(new Set(scores.map((score) => score.toFixed(4))).size).toBeGreaterThan(1);
  });
});
