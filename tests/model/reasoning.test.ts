import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { LlamaModel } from "node-llama-cpp";
import type { GenerationEvent, GenerationRequest } from "../../src/core/ports/chat-engine.ts";
import { Generation } from "../../src/engine/generation/generation.ts";
import { AnswerSampler, type TokenBias } from "../../src/engine/generation/sampling.ts";
import { type Shape, startGrammar } from "../../src/engine/grammar/grammars.ts";
import { StepThreads, StepWatch } from "../../src/engine/machine/steps.ts";
import { NativeChatContext } from "../../src/engine/native/contexts.ts";
import { DirectContext } from "../../src/engine/native/direct-context.ts";
import { chatWrapperFor, PromptTemplate } from "../../src/engine/prompt/prompt-template.ts";
import { readAnswer } from "../../src/engine/scheduling/answer.ts";
import { KvCache } from "../../src/engine/scheduling/kv-cache.ts";
import { Scheduler } from "../../src/engine/scheduling/scheduler.ts";
import { Slots } from "../../src/engine/scheduling/slots.ts";
import { TokenBytes } from "../../src/engine/tokenizer/vocabulary.ts";
import { greedy } from "../support/greedy.ts";
import { testBackend } from "../support/tiny-engines.ts";
import { tinyModels } from "../support/tiny-models.ts";

let model: LlamaModel;

beforeAll(async () => {
  const { llama } = await testBackend();
  model = await llama.loadModel({ modelPath: (await tinyModels()).chat });
});
afterAll(async () => {
  await model.dispose();
});

const parameters = {
  type: "object",
  properties: { city: { enum: ["Paris", "Rome"] } },
  required: ["city"],
};
const toolUse = {
  tools: [{ name: "weather", parameters }],
  choice: "required",
  parallel: false,
} as const;

const format = { schema: { enum: ["Paris", "Rome"] } };

/** An answer whose prompt ends inside a thought, as a reasoning model's may. */
async function answerFromThought(
  more: Partial<GenerationRequest>,
  {
    format,
    bias,
    close = "</think>",
  }: { format?: Shape["format"]; bias?: TokenBias; close?: string } = {},
): Promise<GenerationEvent[]> {
  await using context = await model.createContext({ contextSize: 2048, batchSize: 64 });
  const template = new PromptTemplate(model, chatWrapperFor("qwen", model));
  const messages = [{ role: "user", content: "Think" }] as const;
  const request: GenerationRequest = { messages, sampling: greedy, ...more };
  const prompt = await template.render(messages, more.toolUse?.tools, { most: 2048 });
  if (prompt === undefined) throw new Error("the prompt is too long");
  const { syntax } = prompt.calls;
  const calls = { ...toolUse, only: undefined, syntax, withPrefix: false };
  const { c } = await testBackend();
  using direct = c && new DirectContext(c, context, model, { mayWait: false });
  using grammars = new DisposableStack();
  const start = async (shape: Shape) => grammars.use(await startGrammar(model, shape, direct));
  const generation = new Generation({
    model,
    tokenBytes: new TokenBytes(model),
    prompt: { ...prompt, startsInThought: close },
    request,
    toolUse: more.toolUse,
    shape: { text: format && (await start({ format })), calls: await start({ calls }) },
    maxTokens: 200,
  });
  const { signal } = new AbortController();
  const stepThreads = new StepThreads({ size: 0, budget: 1 });
  const native = new NativeChatContext(context, model, { stepThreads, direct });
  const cache = new KvCache(native);
  const wanted = { prompt: prompt.tokens, fresh: false, scope: undefined };
  using slot = await new Slots(cache, 1).acquire(wanted, { signal });
  const sampling = { request, contextSize: context.contextSize, bias };
  const sampler = new AnswerSampler(native.makeSampler(), sampling);
  const started = { ...wanted, slot, generation, sampler };
  const scheduler = new Scheduler(native, cache, new StepWatch());
  try {
    return await Array.fromAsync(readAnswer(scheduler, started, signal));
  } finally {
    await scheduler.close(new Error("the test is over"));
  }
}

describe("an answer that begins in a thought", () => {
  test("is reasoning until the thought is closed, and counted as such", async () => {
    const events = await answerFromThought({});
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(["reasoning", "finish"]));
    const { completionTokens, reasoningTokens } = usageOf(events);
    expect(reasoningTokens).toBeGreaterThan(0);
    expect(reasoningTokens).toBeLessThanOrEqual(completionTokens);
  });

  test("is held to a tool's arguments all the same when a call is forced", async () => {
    const events = await answerFromThought({ toolUse });
    const text = events
      .map((event) => (event.type === "tool-arguments" ? event.text : ""))
      .join("");
    expect(["Paris", "Rome"]).toContain(JSON.parse(text).city);
    expect(events.at(-1)).toMatchObject({ type: "finish", reason: "tool_calls" });
  });
});

test("an answer that is to fit a schema does, even if the model ends within its thought", async () => {
  const ends = Uint32Array.of(model.tokens.eos ?? 0);
  const bias = { tokenBiasKeys: ends, tokenBiasValues: Float32Array.of(100) };
  const events = await answerFromThought({}, { format, bias });
  const answer = events.map((event) => (event.type === "text" ? event.text : "")).join("");
  expect(["Paris", "Rome"]).toContain(JSON.parse(answer));
  expect(events.at(-1)).toMatchObject({ type: "finish", reason: "stop" });
});

test("an answer that is to fit a schema does, even if the model ends within a character of its thought", async () => {
  const [half] = model.tokenize("\u{1f999}").slice(-4);
  const ends = Uint32Array.of(half ?? 0, model.tokens.eos ?? 0);
  // The penalty of what was sampled leaves the end.
  const bias = { tokenBiasKeys: ends, tokenBiasValues: Float32Array.of(200, 150) };
  const sampling = { ...greedy, repeatPenalty: 2 };
  const events = await answerFromThought({ sampling }, { format, bias });
  const answer = events.map((event) => (event.type === "text" ? event.text : "")).join("");
  expect(["Paris", "Rome"]).toContain(JSON.parse(answer));
});

test("an answer that is to fit a schema does from the end of its thought on", async () => {
  const thought = (await answerFromThought({}))
    .map((event) => (event.type === "reasoning" ? event.text : ""))
    .join("");
  // As if what the model writes after a few tokens ended its thought.
  const events = await answerFromThought({}, { format, close: thought.slice(12, 18) });
  const answer = events.map((event) => (event.type === "text" ? event.text : "")).join("");
  expect(["Paris", "Rome"]).toContain(JSON.parse(answer));
});

function usageOf(events: readonly GenerationEvent[]) {
  const last = events.at(-1);
  if (last?.type !== "finish") throw new Error("no finish");
  return last.usage;
}
