import { describe, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readModelFacts } from "../../src/engine/gguf/model-facts.ts";
import { loadModel } from "../../src/engine/load-model.ts";
import { recordingLog } from "../support/recording-log.ts";
import { rejectionOf } from "../support/rejection.ts";
import { silentProgress } from "../support/silence.ts";
import { tempDir } from "../support/temp-dir.ts";
import {
  neutralSettings,
  testBackend,
  tinyChatModel,
  tinyEmbeddingModel,
  tinySpec,
} from "../support/tiny-engines.ts";
import {
  save,
  tinyChatContext,
  tinyEmbeddingContext,
  tinyLlama,
  tinyModels,
} from "../support/tiny-models.ts";

const settings = (overrides: Partial<typeof neutralSettings>) => ({
  settings: { ...neutralSettings, ...overrides },
});

describe("loading a model", () => {
  test("fails if its file is replaced meanwhile: vectors would have the digest of other weights", async () => {
    await using folder = await tempDir();
    const { embedding } = await tinyModels();
    const bytes = await readFile(embedding);
    const path = join(folder.path, "embedding.gguf");
    const next = join(folder.path, "next.gguf");
    await writeFile(path, bytes);
    bytes[bytes.length - 5] = (bytes[bytes.length - 5] ?? 0) ^ 1;
    await writeFile(next, bytes);
    const spec = tinySpec({ name: "moved", type: "embedding", path, settings: neutralSettings });
    const loading = loadModel(await testBackend(), spec, silentProgress, (stage) => {
      if (stage === "model") renameSync(next, path);
    });
    expect(await rejectionOf(loading)).toMatchObject({
      message: expect.stringContaining("was replaced while it was loaded"),
    });
  });

  test("reports the settings it really runs with", async () => {
    await using model = await tinyChatModel(settings({ batchSize: 64, ctxSize: 0 }));
    expect(model.card).toMatchObject({
      name: "tiny",
      type: "chat",
      settings: { ...neutralSettings, ctxSize: tinyChatContext, batchSize: 64, nGpuLayers: 0 },
    });
  });

  test("tells what its file says of the weights, and whether the template has thoughts", async () => {
    const { chat, thinker } = await tinyModels();
    await using model = await tinyChatModel();
    const facts = await readModelFacts(chat);
    expect(facts).toMatchObject(model.card.weights ?? { architecture: "none" });
    expect(model.card.thinks).toBe(false);
    await using thinking = await tinyChatModel({ path: thinker });
    expect(thinking.card.thinks).toBe(true);
  });

  test("chooses what is left to it, and reports numbers and why", async () => {
    const { chat, embedding } = await tinyModels();
    const auto = { ctxSize: "auto", batchSize: "auto", nGpuLayers: "auto" } as const;
    const wanted = { ...neutralSettings, ...auto };
    const { log, lines } = recordingLog();
    const backend = { ...(await testBackend()), log };
    const spec = tinySpec({ name: "fitted", type: "chat", path: chat, settings: wanted });
    await using model = await loadModel(backend, spec, silentProgress);
    const chosen = { ctxSize: tinyChatContext, batchSize: 512, nGpuLayers: 0 };
    expect(model.card.settings).toEqual({ ...neutralSettings, ...chosen });
    expect(lines).toContainEqual({
      level: "info",
      message: "sizes were chosen for the machine",
      fields: {
        model: "fitted",
        ctx_size: tinyChatContext,
        batch_size: 512,
        n_gpu_layers: 0,
        why: expect.stringMatching(/^takes about [\d.]+ MB of [\d.]+ GB free memory/),
      },
    });
    const bounded = { ...spec, memoryLimit: 2_000_000 };
    await using small = await loadModel(backend, bounded, silentProgress);
    expect(small.card.settings).toMatchObject({ ctxSize: 1024, batchSize: 128 });
    const mapper = tinySpec({ ...spec, name: "mapper", type: "embedding", path: embedding });
    await using vectors = await loadModel(backend, mapper, silentProgress);
    expect(vectors.card.settings).toMatchObject({ ctxSize: tinyEmbeddingContext, nGpuLayers: 0 });
  });

  test("dates the model by its file", async () => {
    const { chat } = await tinyModels();
    const { mtime } = await Bun.file(chat).stat();
    await using model = await tinyChatModel();
    expect(model.card.createdAt).toEqual(mtime);
  });

  test("gives the same fingerprint to the same weights and settings, another to others", async () => {
    await using folder = await tempDir();
    const copy = join(folder.path, "copy.gguf");
    await save(copy, tinyLlama());
    await using first = await tinyChatModel();
    await using same = await tinyChatModel({ name: "elsewhere", path: copy });
    await using hotter = await tinyChatModel(settings({ temperature: 0.5 }));
    await using other = await tinyEmbeddingModel();
    expect(first.fingerprint).toMatch(/^fp_[0-9a-f]{12}$/);
    expect(same.fingerprint).toBe(first.fingerprint);
    expect(new Set([first, hotter, other].map(({ fingerprint }) => fingerprint)).size).toBe(3);
  });

  test("refuses a file that is not a model, saying which", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "broken.gguf");
    await writeFile(path, "this is no model");
    expect(await rejectionOf(tinyChatModel({ name: "broken", path }))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("The model 'broken' cannot be loaded"),
    });
  });

  test("refuses a context larger than the model was trained on", async () => {
    expect(await rejectionOf(tinyChatModel(settings({ ctxSize: 8192 })))).toMatchObject({
      message: expect.stringContaining("ctx_size is 8192, but it was trained on 4096 tokens"),
    });
  });

  test("refuses an embedding model configured for chat", async () => {
    const { embedding } = await tinyModels();
    expect(await rejectionOf(tinyChatModel({ path: embedding }))).toMatchObject({
      message: expect.stringContaining('type = "embedding"'),
    });
  });
});
