import { describe, expect, test } from "bun:test";
import { mkdir, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { starterChat, starterEmbedding } from "../../../../src/models/catalog.ts";
import { hubFrom } from "../../../../src/models/sources/hub.ts";
import { resolveSource } from "../../../../src/models/sources/resolve.ts";
import { honest, modelServer } from "../../../support/model-server.ts";
import { silentProgress } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { tinyModels } from "../../../support/tiny-models.ts";

const resolveIn = (baseDir: string, source: string): Promise<string> =>
  resolveSource(source, {
    baseDir,
    folder: join(baseDir, "models"),
    hub: hubFrom({}),
    progress: silentProgress,
    signal: new AbortController().signal,
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

  test("is any of a model's files, and stands for all of them", async () => {
    await using folder = await tempDir();
    const files = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"];
    for (const file of files) await writeFile(join(folder.path, file), "weights");
    for (const file of files) {
      expect(await resolveIn(folder.path, file)).toBe(join(folder.path, "m-00001-of-00002.gguf"));
    }
    await rm(join(folder.path, "m-00001-of-00002.gguf"));
    await expect(resolveIn(folder.path, "./m-00002-of-00002.gguf")).rejects.toMatchObject({
      kind: "unavailable",
      message:
        "The model './m-00002-of-00002.gguf' is not whole: 'm-00001-of-00002.gguf' of its 2 files is not there. Put them beside each other, under the names that they came with.",
    });
  });

  test("is fetched into the models folder where it is an address", async () => {
    const bytes = await Bun.file((await tinyModels()).chat).bytes();
    await using server = await modelServer(honest(bytes));
    await using folder = await tempDir();
    const path = await resolveIn(folder.path, `${server.url}/a.gguf`);
    expect(path).toStartWith(join(folder.path, "models", "web_127.0.0.1_"));
    expect(await Bun.file(path).bytes()).toEqual(bytes);
  });

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
