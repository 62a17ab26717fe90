import { describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readModelFacts } from "../../../../../src/engine/gguf/model-facts.ts";
import { prepareFetched } from "../../../../../src/models/sources/starter.ts";
import type { FetchedEmbeddingModel } from "../../../../../src/models/starter-models.ts";
import { sha256Of } from "../../../../support/model-bytes.ts";
import { startRegistry, testPackage } from "../../../../support/npm-registry.ts";
import { onnxBert } from "../../../../support/onnx-bert.ts";
import { rejectionOf } from "../../../../support/rejection.ts";
import { silentProgress } from "../../../../support/silence.ts";
import { tempDir } from "../../../../support/temp-dir.ts";

const parts = onnxBert();
const files = Object.fromEntries(
  Object.entries(parts).map(([name, bytes]) => [`dist/tiny/${name}`, bytes]),
);

const model: FetchedEmbeddingModel = {
  ...testPackage,
  source: "starter:embedding-tiny",
  file: "tiny.gguf",
  name: "tiny",
  folder: "dist/tiny",
  weights: "onnx/model.onnx",
  scoreThreshold: 0.5,
  parts: Object.fromEntries(Object.entries(parts).map(([name, bytes]) => [name, sha256Of(bytes)])),
  bytes: 12_960,
  sha256: "",
};

/** What is made is the same each time: the first time says what it is. */
async function made(changes: Partial<FetchedEmbeddingModel>, url: string, folder: string) {
  return await prepareFetched(
    { ...model, ...changes },
    {
      folder,
      progress: silentProgress,
      signal: new AbortController().signal,
      registryOf: async () => ({ endpoint: url }),
    },
  );
}

describe("a starter model that is fetched when it is asked for", () => {
  test("is refused where what was made of it is not what it should be, and leaves nothing", async () => {
    await using folder = await tempDir();
    using registry = startRegistry({ files });
    const refusal = await rejectionOf(made({ sha256: "0".repeat(64) }, registry.url, folder.path));
    expect(refusal).toMatchObject({
      message: expect.stringContaining("'starter:embedding-tiny' is not what it should be"),
    });
    expect(await readdir(folder.path)).toEqual([]);
  });

  test("is refused where a file of its package is another, before it is read", async () => {
    await using folder = await tempDir();
    using registry = startRegistry({ files: { ...files, "dist/tiny/config.json": "{}" } });
    expect(await rejectionOf(made({}, registry.url, folder.path))).toMatchObject({
      message: expect.stringContaining("sha256 of config.json of @made/weights is"),
    });
    expect(await readdir(folder.path)).toEqual([]);
  });

  test("is fetched and converted once", async () => {
    await using folder = await tempDir();
    using registry = startRegistry({ files });
    const refusal = await rejectionOf(made({}, registry.url, folder.path));
    const [, sha256 = ""] = /tiny\.gguf is ([0-9a-f]{64})/.exec(String(refusal)) ?? [];
    const path = await made({ sha256 }, registry.url, folder.path);
    expect(path).toBe(join(folder.path, "tiny.gguf"));
    expect(await readModelFacts(path)).toMatchObject({ architecture: "bert", kind: "embedding" });
    const asked = registry.asked.length;
    const bytes = Bun.file(path).size;
    expect(await made({ sha256, bytes }, registry.url, folder.path)).toBe(path);
    expect(registry.asked).toHaveLength(asked);
    expect((await readdir(folder.path)).sort()).toEqual(["digests.json", "tiny.gguf"]);
  });
});
