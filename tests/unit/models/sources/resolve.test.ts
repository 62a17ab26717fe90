import { describe, expect, test } from "bun:test";
import { mkdir, open, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { starterChat, starterEmbedding } from "../../../../src/models/catalog.ts";
import { type ResolveOptions, resolveSource } from "../../../../src/models/sources/resolve.ts";
import { silentProgress } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";

type Download = ResolveOptions["download"];

const refuse: Download = async (source) => {
  throw new Error(`${source} was downloaded`);
};

const resolveIn = (baseDir: string, source: string, download = refuse): Promise<string> =>
  resolveSource(source, {
    baseDir,
    folder: join(baseDir, "models"),
    progress: silentProgress,
    download,
  });

describe("a model's source", () => {
  test.each(["./my.gguf", "my.gguf", "deep/../my.gguf"])(
    "is a path from the base folder: %s",
    async (source) => {
      await using folder = await tempDir();
      await writeFile(join(folder.path, "my.gguf"), "weights");
      expect(await resolveIn(folder.path, source)).toBe(join(folder.path, "my.gguf"));
    },
  );

  test("is an absolute path, whatever the base folder", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "my.gguf");
    await writeFile(path, "weights");
    expect(await resolveIn("/nowhere", path)).toBe(path);
  });

  test("is refused by its name where the file is not there, or is a folder", async () => {
    await using folder = await tempDir();
    await mkdir(join(folder.path, "sub"));
    await expect(resolveIn(folder.path, "./gone.gguf")).rejects.toMatchObject({
      kind: "unavailable",
      message: "The model file './gone.gguf' does not exist. Give the path of a GGUF file.",
    });
    await expect(resolveIn(folder.path, "sub")).rejects.toMatchObject({
      kind: "unavailable",
      message: "The model file 'sub' is not a file. Give the path of a GGUF file.",
    });
  });

  test.each(["hf:owner/repo:Q4_K_M", "https://models.example/a.gguf"])(
    "is downloaded into the models folder: %s",
    async (source) => {
      const asked: string[] = [];
      const download: Download = async (from, folder) => {
        asked.push(from, folder);
        return "/fetched/a.gguf";
      };
      expect(await resolveIn("/base", source, download)).toBe("/fetched/a.gguf");
      expect(asked).toEqual([source, join("/base", "models")]);
    },
  );

  test.each([
    ["starter:chat", starterChat],
    ["starter:embedding", starterEmbedding],
  ] as const)(
    "is a starter model that is left alone once it is there: %s",
    async (source, model) => {
      await using folder = await tempDir();
      const path = join(folder.path, "models", model.file);
      await mkdir(join(folder.path, "models"));
      {
        await using file = await open(path, "w");
        await file.truncate(model.bytes); // as long as the real one, and empty
      }
      const before = await stat(path);
      expect(await resolveIn(folder.path, source)).toBe(path);
      const after = await stat(path);
      expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
      expect(await readdir(join(folder.path, "models"))).toEqual([model.file]);
    },
  );
});
