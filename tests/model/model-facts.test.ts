import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { GgmlType, GgufFileType, GgufInsights, readGgufFileInfo } from "node-llama-cpp";
import { type ContextSettings, contextDefaults } from "../../src/core/models/model.ts";
import { ggmlNames, readModelFacts } from "../../src/engine/gguf/model-facts.ts";
import { fileTypes, tensorTypes } from "../../src/engine/gguf/types.ts";
import { estimateMemory } from "../../src/engine/machine/model-memory.ts";
import { randomLlama } from "../support/random-llama.ts";
import { tempDir } from "../support/temp-dir.ts";
import { testBackend } from "../support/tiny-engines.ts";
import { save, tinyModels } from "../support/tiny-models.ts";

test("types of tensors and files have the numbers that the library has for them", () => {
  for (const [name, { number }] of Object.entries(tensorTypes)) {
    expect([name, number]).toEqual([GgmlType[number] ?? "", number]);
  }
  const known = Object.values(GgufFileType).filter((one) => typeof one === "string");
  expect(fileTypes).toEqual(known.map((name) => name.replace(/^(MOSTLY|ALL)_/, "")));
});

describe("a model's file", () => {
  test("says what the model is", async () => {
    const { chat } = await tinyModels();
    expect(await readModelFacts(chat)).toEqual({
      files: [chat],
      kind: "chat",
      architecture: "llama",
      name: "tiny-chat",
      parameters: 43_680,
      quantization: "F32",
      trainContext: 4096,
      bytes: Bun.file(chat).size,
      layers: 2,
      hasChatTemplate: true,
      supportsTools: false,
      supportsThinking: false,
      cacheBytesPerToken: 2 * (32 + 32) * 2,
      attentionScores: 0,
      adapterBytes: 0,
      embeddingLength: 32,
      vocabularySize: 360,
    });
  });

  test("says what the model is for", async () => {
    const { embedding, reranker } = await tinyModels();
    expect((await readModelFacts(embedding)).kind).toBe("embedding");
    expect((await readModelFacts(embedding)).cacheBytesPerToken).toBe(0);
    expect((await readModelFacts(reranker)).kind).toBe("reranker");
  });

  test("is refused by its name where it is no GGUF", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "page.gguf");
    await writeFile(path, "<!doctype html>".repeat(100));
    await expect(readModelFacts(path)).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining(path),
    });
    await save(path, { metadata: {}, tensors: [] });
    await expect(readModelFacts(path)).rejects.toThrow("cannot be read: it names no architecture.");
  });
});

test.each<Partial<ContextSettings>>([
  {},
  { cacheTypeK: "q8_0", cacheTypeV: "q8_0" },
  { cacheTypeK: "q4_0", cacheTypeV: "q4_0" },
  { cacheTypeK: "q4_0", flashAttention: "off" },
])("the estimate is near what llama.cpp would take, and not below: %j", async (settings) => {
  await using folder = await tempDir();
  const path = join(folder.path, "wide.gguf");
  const words = Array.from({ length: 4000 }, (_, at) => `w${at}`);
  const shape = { name: "wide", size: 256, hidden: 512, layers: 8, heads: 8, context: 8192 };
  await save(path, randomLlama({ ...shape, type: "q8_0", words }));
  const context = { ...contextDefaults, ...settings };
  const facts = await readModelFacts(path, context);
  const { llama } = await testBackend();
  const insights = await GgufInsights.from(await readGgufFileInfo(path), llama);
  for (const contextSize of [512, 4096, 8192]) {
    const demand = { contextSize, parallel: 4, batchSize: 512 };
    const { cache, working } = estimateMemory(facts, demand);
    const { cpuRam } = await insights.estimateContextResourceRequirementsV2({
      contextSize,
      modelGpuLayers: 0,
      batchSize: 512,
      sequences: 4,
      flashAttention: context.flashAttention !== "off",
      kvCacheKeyType: GgmlType[ggmlNames[context.cacheTypeK]],
      kvCacheValueType: GgmlType[ggmlNames[context.cacheTypeV]],
    });
    expect(cache + working).toBeGreaterThan(cpuRam * 0.95);
    expect(cache + working).toBeLessThan(cpuRam * 1.6);
  }
});
