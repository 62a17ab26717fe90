import { describe, expect, test } from "bun:test";
import { mkdir, open, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Progress } from "../../../../src/core/progress.ts";
import { hubFrom } from "../../../../src/models/sources/hub-reference.ts";
import { type ResolveOptions, resolveSource } from "../../../../src/models/sources/resolve.ts";
import { starterEmbedding } from "../../../../src/models/starter-models.ts";
import { sha256Of } from "../../../support/model-bytes.ts";
import { honest, modelServer } from "../../../support/model-server.ts";
import { silentProgress } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { tinyModels } from "../../../support/tiny-models.ts";

const resolveIn = (
  baseDir: string,
  source: string,
  options: Partial<ResolveOptions> = {},
): Promise<string> =>
  resolveSource(source, {
    baseDir,
    folder: join(baseDir, "models"),
    hub: hubFrom({}),
    progress: silentProgress,
    signal: new AbortController().signal,
    ...options,
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

  test("is a starter model that is left alone once it is there, and made anew where it is another", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "models", starterEmbedding.file);
    await mkdir(join(folder.path, "models"));
    {
      await using file = await open(path, "w");
      await file.truncate(starterEmbedding.bytes); // as long as the real one, and empty
    }
    expect(await resolveIn(folder.path, "starter:embedding")).toBe(path);
    expect(sha256Of(await Bun.file(path).bytes())).toBe(starterEmbedding.sha256);
    const before = await stat(path);
    expect(await resolveIn(folder.path, "starter:embedding")).toBe(path);
    const after = await stat(path);
    expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
    expect((await readdir(join(folder.path, "models"))).sort()).toEqual([
      starterEmbedding.file,
      "digests.json",
    ]);
  });
});

describe("the digest that a file must have", () => {
  const counting = () => {
    const steps: string[] = [];
    const progress: Progress = {
      step(label) {
        steps.push(label);
        return { update: () => {}, finish: () => {} };
      },
    };
    return { steps, progress };
  };

  test("is computed once, and again only when the file changed", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "my.gguf");
    await writeFile(path, "weights");
    const { steps, progress } = counting();
    const sha256 = sha256Of(new TextEncoder().encode("weights"));
    for (const _ of [1, 2, 3]) {
      expect(await resolveIn(folder.path, "my.gguf", { sha256, progress })).toBe(path);
    }
    expect(steps).toEqual(["Checking my.gguf"]);
    await writeFile(path, "weights".toUpperCase());
    await utimes(path, new Date(0), new Date(0));
    const other = sha256Of(new TextEncoder().encode("WEIGHTS"));
    await expect(resolveIn(folder.path, "my.gguf", { sha256, progress })).rejects.toMatchObject({
      kind: "unavailable",
      message: `The file ${path} is there, but it is not the one it should be: its sha256 is ${other}, expected ${sha256}. Remove it and pull again, or check the digest ('sha256' under [[models]], or --sha256).`,
    });
    await resolveIn(folder.path, "my.gguf", { sha256: other, progress });
    expect(steps).toHaveLength(2);
  });

  test("of a download is not computed a second time", async () => {
    const bytes = await Bun.file((await tinyModels()).chat).bytes();
    await using server = await modelServer(honest(bytes));
    await using folder = await tempDir();
    const { steps, progress } = counting();
    const source = `${server.url}/a.gguf`;
    await resolveIn(folder.path, source, { progress });
    await resolveIn(folder.path, source, { progress, sha256: sha256Of(bytes) });
    expect(steps).toEqual([expect.stringContaining("Downloading")]);
    await expect(resolveIn(folder.path, source, { sha256: "0".repeat(64) })).rejects.toThrow(
      "is not the one it should be",
    );
  });

  test("is of one file", async () => {
    await using folder = await tempDir();
    for (const at of [1, 2]) {
      await writeFile(join(folder.path, `m-0000${at}-of-00002.gguf`), "weights");
    }
    await expect(
      resolveIn(folder.path, "m-00001-of-00002.gguf", { sha256: "0".repeat(64) }),
    ).rejects.toThrow("A digest is of one file, and 'm-00001-of-00002.gguf' has 2");
  });

  test("is computed each time where what was computed cannot be kept", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "my.gguf"), "weights");
    await writeFile(join(folder.path, "models"), "a file in the folder's place");
    const sha256 = sha256Of(new TextEncoder().encode("weights"));
    const { steps, progress } = counting();
    for (const _ of [1, 2]) await resolveIn(folder.path, "my.gguf", { sha256, progress });
    expect(steps).toHaveLength(2);
  });
});
