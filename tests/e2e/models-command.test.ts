import { describe, expect, test } from "bun:test";
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runPaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { save, tinyAdapter, tinyModels } from "../support/tiny-models.ts";

async function dataDir() {
  const folder = await tempDir();
  const models = join(folder.path, ".paddock", "models");
  await mkdir(models, { recursive: true });
  const { chat, embedding } = await tinyModels();
  const config = [
    '[[models]]\nname = "mine"\ntype = "chat"\nctx_size = 1024\nparallel = 2\n',
    `prompt_template = "chatml"\nsource = ${JSON.stringify(chat)}\n`,
    '[[models]]\nname = "away"\ntype = "chat"\nsource = "hf:owner/repo:Q4_K_M"\n',
  ];
  await writeFile(join(folder.path, "paddock.toml"), config.join(""));
  await copyFile(embedding, join(models, "vectors.gguf"));
  const run = (...args: string[]) => runPaddock(["models", ...args], { cwd: folder.path });
  return { ...folder, models, chat, run };
}

describe("paddock models", () => {
  test("shows what is configured and what lies in the folder", async () => {
    await using folder = await dataDir();
    await writeFile(join(folder.models, "half.gguf.part"), "GGUF");
    await writeFile(join(folder.models, "page.gguf"), "<html>");
    const { code, stdout, stderr } = await folder.run();
    expect(code).toBe(0);
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      [
        "NAME",
        "TYPE",
        "FILE",
        "ARCHITECTURE",
        "PARAMETERS",
        "FORM",
        "CONTEXT",
        "SIZE",
        "TEMPLATE",
        "TOOLS",
        "MEMORY",
        "FITS",
      ],
      [
        "mine",
        "chat",
        "tiny-chat.gguf",
        "llama",
        "44 k",
        "F32",
        "1024 of 4096",
        "184 kB",
        "chatml",
        "no",
        "2.5 MB",
        "yes",
      ],
      ["away", "not fetched: hf:owner/repo:Q4_K_M"],
      ["page", "page.gguf"],
      expect.arrayContaining(["vectors", "embedding", "vectors.gguf", "bert", "64 of 64", "yes"]),
      [""],
    ]);
    expect(stderr).toContain("half.gguf is not whole: pulling it again goes on");
    expect(stderr).toContain("page.gguf' cannot be read");
    expect(stderr).toMatch(/Memory: [\d.]+ [GT]B.*, [\d.]+ [MGT]B free\./);
  });

  test("counts the type of the cache and adapters", async () => {
    await using folder = await dataDir();
    await save(join(folder.path, "adapter.gguf"), tinyAdapter());
    const memoryWith = async (lines: string): Promise<number> => {
      const source = `source = ${JSON.stringify(folder.chat)}\nctx_size = 1024\nparallel = 2\n`;
      const config = `[[models]]\nname = "mine"\ntype = "chat"\n${source}${lines}`;
      await writeFile(join(folder.path, "paddock.toml"), config);
      return JSON.parse((await folder.run("--json")).stdout).models[0].memory.bytes;
    };
    const usual = await memoryWith("");
    // 2 answers of 1,024 tokens, 2 layers of 32 keys and 32 values; 2 bytes each, or 34 for 32.
    const saved = 2 * 1024 * 2 * 64 * (2 - 34 / 32);
    expect(await memoryWith('cache_type_k = "q8_0"\ncache_type_v = "q8_0"')).toBe(usual - saved);
    const { size } = Bun.file(join(folder.path, "adapter.gguf"));
    expect(await memoryWith('lora = [{ path = "adapter.gguf" }]')).toBe(usual + size);
  });

  test("says the same as JSON, in bytes", async () => {
    await using folder = await dataDir();
    const { stdout } = await folder.run("--json");
    expect(JSON.parse(stdout)).toEqual({
      models: [
        expect.objectContaining({
          name: "mine",
          configured: true,
          source: folder.chat,
          path: folder.chat,
          files: [folder.chat],
          kind: "chat",
          template: "chatml",
          trainContext: 4096,
          memory: { bytes: 2_494_624, contextSize: 1024, parallel: 2, fits: "yes" },
        }),
        { name: "away", configured: true, source: "hf:owner/repo:Q4_K_M", files: [] },
        expect.objectContaining({ name: "vectors", configured: false, kind: "embedding" }),
      ],
      unfinished: [],
      unused: [],
      memory: expect.any(Number),
      availableMemory: expect.any(Number),
    });
  });
});

test("paddock models names quantized files that nothing is loaded from, and removes them", async () => {
  await using folder = await dataDir();
  const file = "old.from-0123456789abcdef.q8_0.gguf";
  await copyFile(folder.chat, join(folder.models, file));
  await writeFile(join(folder.models, `${file}.made-from.json`), '{"source":"/gone.gguf"}');
  expect((await folder.run()).stderr).toContain(
    `${file} was quantized here, and no model is loaded from it any more: 'paddock models rm ${file}' removes it.`,
  );
  expect((await folder.run("rm", file, "--yes")).code).toBe(0);
  expect(await readdir(folder.models)).toEqual(["vectors.gguf"]);
});

describe("paddock models rm", () => {
  test("removes a model by its file or its name, and says how much that freed", async () => {
    await using folder = await dataDir();
    await writeFile(join(folder.models, "vectors.gguf.origin.json"), "{}");
    const refused = await folder.run("rm", "vectors.gguf");
    expect([refused.code, refused.stderr]).toEqual([
      1,
      "This would remove the model vectors.gguf. Nobody is here to ask; say --yes.\n",
    ]);
    const { code, stdout } = await folder.run("rm", "vectors", "--yes");
    expect([code, stdout]).toEqual([0, "Removed vectors.gguf; 58 kB freed.\n"]);
    expect(await readdir(folder.models)).toEqual([]);
  });

  test("removes all parts of a model, and the rests of a download", async () => {
    await using folder = await dataDir();
    for (const number of [1, 2, 3]) {
      await writeFile(join(folder.models, `big-0000${number}-of-00003.gguf`), "x".repeat(1000));
    }
    await writeFile(join(folder.models, "half.gguf.part"), "GGUF");
    await writeFile(join(folder.models, "half.gguf.part.json"), "{}");
    await writeFile(join(folder.models, "half.gguf.lock"), "");
    const big = await folder.run("rm", "big-00002-of-00003.gguf", "--yes");
    expect(big.stdout).toBe("Removed big-00001-of-00003.gguf; 3 kB freed.\n");
    expect((await folder.run("rm", "half.gguf", "--yes")).stdout).toStartWith("Removed half.gguf");
    expect(await readdir(folder.models)).toEqual(["vectors.gguf"]);
  });

  test("leaves alone what is not in the models folder, or is not there", async () => {
    await using folder = await dataDir();
    await writeFile(join(folder.path, "own.gguf"), "GGUF");
    for (const wanted of ["mine", folder.chat, "./own.gguf", "../../own.gguf"]) {
      const { code, stderr } = await folder.run("rm", wanted, "--yes");
      expect([code, stderr]).toEqual([1, expect.stringContaining("is not in the models folder")]);
    }
    const { code, stderr } = await folder.run("rm", "nobody.gguf", "--yes");
    expect([code, stderr]).toEqual([1, expect.stringContaining("There is no model 'nobody.gguf'")]);
    expect(await Bun.file(folder.chat).exists()).toBe(true);
    expect(await readdir(folder.path)).toContain("own.gguf");
  });
});
