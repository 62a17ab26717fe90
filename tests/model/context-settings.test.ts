import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LlamaModel } from "node-llama-cpp";
import {
  type CacheType,
  type ChatModel,
  type ContextSettings,
  contextDefaults,
} from "../../src/core/models/model.ts";
import type { GenerationEvent } from "../../src/core/ports/chat-engine.ts";
import { type Backend, openBackend } from "../../src/engine/load-backend.ts";
import { loadModel } from "../../src/engine/load-model.ts";
import { greedy } from "../support/greedy.ts";
import { randomLlama } from "../support/random-llama.ts";
import { rejectionOf } from "../support/rejection.ts";
import { silentLog, silentProgress } from "../support/silence.ts";
import { tempDir } from "../support/temp-dir.ts";
import {
  neutralSettings,
  places,
  testBackend,
  tinyChatModel,
  tinySpec,
} from "../support/tiny-engines.ts";
import { save, tinyAdapter } from "../support/tiny-models.ts";

const withContext = (context: Partial<ContextSettings>) => ({
  settings: { ...neutralSettings, context: { ...contextDefaults, ...context } },
});

const { signal } = new AbortController();

async function answer({ engine }: ChatModel): Promise<string> {
  const messages = [{ role: "user", content: "Hello" } as const];
  const request = { messages, sampling: greedy, maxTokens: 24 };
  const events: GenerationEvent[] = await Array.fromAsync(engine.generate(request, { signal }));
  return events.map((event) => (event.type === "text" ? event.text : "")).join("");
}

async function answerWith(context: Partial<ContextSettings>): Promise<string> {
  await using model = await tinyChatModel(withContext(context));
  return await answer(model);
}

let folder: Awaited<ReturnType<typeof tempDir>>;
/** Heads of 32 values, as a quantized cache needs. */
let wide: string;
let adapter: string;
beforeAll(async () => {
  folder = await tempDir();
  wide = join(folder.path, "wide.gguf");
  adapter = join(folder.path, "adapter.gguf");
  const shape = { name: "wide", size: 64, hidden: 64, layers: 2, heads: 2, context: 4096 };
  await save(wide, randomLlama({ ...shape, type: "f32", words: [] }));
  await save(adapter, tinyAdapter());
});
afterAll(() => folder[Symbol.asyncDispose]());

describe("LoRA adapters", () => {
  test.each(places)(
    "change the answers as their scale says, and are reported, in %s",
    async (place) => {
      const plain = await answerWith({});
      const lora = [{ path: adapter, scale: 1 }];
      await using model = await tinyChatModel(withContext({ lora }), place);
      expect(model.card.settings.context?.lora).toEqual(lora);
      expect(await answer(model)).not.toBe(plain);
      expect(await answerWith({ lora: [{ path: adapter, scale: 0 }] })).toBe(plain);
    },
  );

  test("change the fingerprint by what is in them and their scale, not by where they are", async () => {
    const copy = join(folder.path, "copy.gguf");
    const other = join(folder.path, "other.gguf");
    await save(copy, tinyAdapter());
    await save(other, tinyAdapter({ seed: 20 }));
    const fingerprintWith = async (lora: ContextSettings["lora"]): Promise<string> => {
      await using model = await tinyChatModel(withContext({ lora }));
      return model.fingerprint;
    };
    const whole = await fingerprintWith([{ path: adapter, scale: 1 }]);
    expect(await fingerprintWith([{ path: copy, scale: 1 }])).toBe(whole);
    const others = await Promise.all([
      fingerprintWith([]),
      fingerprintWith([{ path: adapter, scale: 0.5 }]),
      fingerprintWith([{ path: other, scale: 1 }]),
    ]);
    expect(new Set([whole, ...others]).size).toBe(4);
  });

  test("are refused if they are absent, no adapters or of another model, saying which", async () => {
    const refusalOf = async (path: string): Promise<unknown> =>
      await rejectionOf(answerWith({ lora: [{ path, scale: 1 }] }));
    const absent = join(folder.path, "absent.gguf");
    expect(await refusalOf(absent)).toMatchObject({
      message: expect.stringContaining(`its LoRA adapter '${absent}' cannot be read: ENOENT`),
    });
    const junk = join(folder.path, "junk.gguf");
    await writeFile(junk, "this is no adapter");
    const foreign = join(folder.path, "foreign.gguf");
    await save(foreign, tinyAdapter({ architecture: "bert" }));
    const large = join(folder.path, "large.gguf");
    await save(large, tinyAdapter({ size: 64 }));
    for (const path of [junk, foreign, large, wide]) {
      expect(await refusalOf(path)).toMatchObject({
        kind: "unavailable",
        message: expect.stringMatching(
          new RegExp(`${path}.*lora needs adapters in GGUF that were made for this model`),
        ),
      });
    }
  });
});

/** The wide model, and the memory of its context as llama.cpp counts it. */
async function wideModel(backend: Backend, context: Partial<ContextSettings>, memoryLimit = 0) {
  const auto = memoryLimit === 0 ? {} : { ctxSize: "auto" as const };
  const settings = { ...withContext(context).settings, ctxSize: 4096, ...auto };
  const spec = tinySpec({ name: "wide", type: "chat", path: wide, settings, memoryLimit });
  using creating = spyOn(LlamaModel.prototype, "createContext");
  const model = await loadModel(backend, spec, silentProgress);
  const made: unknown = await creating.mock.results.at(-1)?.value;
  if (model.type !== "chat" || !hasBreakdown(made)) throw new Error("not a chat model's context");
  return { model, bytes: made._ctx.getMemoryBreakdown().cpuRam };
}

interface Measured {
  _ctx: { getMemoryBreakdown: () => { cpuRam: number } };
}

const hasBreakdown = (context: unknown): context is Measured =>
  typeof context === "object" && context !== null && "_ctx" in context;

describe("a quantized KV cache", () => {
  test.each<[CacheType, number]>([
    ["q8_0", 34 / 32],
    ["q4_0", 18 / 32],
  ])("of %s is as small as its type, and the model answers", async (type, bytesEach) => {
    const backend = await testBackend();
    const whole = await wideModel(backend, {});
    const keys = await wideModel(backend, { cacheTypeK: type });
    const both = await wideModel(backend, { cacheTypeK: type, cacheTypeV: type });
    await using resources = new AsyncDisposableStack();
    for (const { model } of [whole, keys, both]) resources.use(model);
    // 2 sequences of 4,096 tokens, 2 layers of 64 keys.
    const saved = 2 * 4096 * 2 * 64 * (2 - bytesEach);
    expect(whole.bytes - keys.bytes).toBe(saved);
    expect(whole.bytes - both.bytes).toBe(2 * saved);
    expect(both.model.card.settings.context).toMatchObject({ cacheTypeK: type, cacheTypeV: type });
    const answers = await Promise.all([answer(both.model), answer(both.model)]);
    expect(answers).not.toContain("");
  });

  test("leaves room for a longer context", async () => {
    const backend = await testBackend();
    const limit = 3_600_000;
    const { model: whole } = await wideModel(backend, {}, limit);
    await using _whole = whole;
    const quantized = { cacheTypeK: "q8_0", cacheTypeV: "q8_0" } as const;
    const { model: small } = await wideModel(backend, quantized, limit);
    await using _small = small;
    expect(small.card.settings.ctxSize).toBe(2 * whole.card.settings.ctxSize);
  });

  test("is computed through llama.cpp's C interface as through node-llama-cpp, with an adapter too", async () => {
    const fitting = join(folder.path, "fitting.gguf");
    await save(fitting, tinyAdapter({ size: 64 }));
    const lora = [{ path: fitting, scale: 1 }];
    const answers: string[] = [];
    for (const way of ["native", "addon", "broken"] as const) {
      const options = { threads: 1, backend: "cpu", log: silentLog } as const;
      await using backend = await openBackend({ ...options, nativeSteps: way !== "addon" });
      const hasC = backend.c !== undefined;
      if (way === "broken" && backend.c !== undefined) backend.c.sampleAt = () => -1;
      const { model } = await wideModel(backend, { cacheTypeK: "q8_0", cacheTypeV: "q8_0", lora });
      await using _model = model;
      answers.push(await answer(model));
      expect(backend.c !== undefined).toBe(hasC && way === "native");
    }
    const [native = "", ...others] = answers;
    expect(native).not.toBe("");
    expect(others).toEqual([native, native]);
  });

  test("is refused where the model or the attention does not suit it, saying what it needs", async () => {
    // The tiny model has heads of 16 values.
    expect(await rejectionOf(answerWith({ cacheTypeK: "q8_0" }))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining(
        "cache_type_k = 'q8_0' needs attention heads with a multiple of 32 values",
      ),
    });
    const withoutFlash = wideModel(await testBackend(), {
      cacheTypeV: "q4_0",
      flashAttention: "off",
    });
    expect(await rejectionOf(withoutFlash)).toMatchObject({
      message: expect.stringContaining(
        "cache_type_v = 'q4_0' needs attention heads with a multiple of 32 values, and flash attention",
      ),
    });
  });
});

test("attention takes more memory without flash attention", async () => {
  const backend = await testBackend();
  const on = await wideModel(backend, { flashAttention: "on" });
  await using _on = on.model;
  const off = await wideModel(backend, { flashAttention: "off" });
  await using _off = off.model;
  expect(off.bytes).toBeGreaterThan(on.bytes);
  expect(await Promise.all([on.model, off.model].map(answer))).not.toContain("");
});
