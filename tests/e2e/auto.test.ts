import { expect, test } from "bun:test";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";

test("a node that is left to choose takes a pulled model, fits its sizes, and says what it picked", async () => {
  await using folder = await tempDir();
  const models = join(folder.path, ".paddock", "models");
  await mkdir(models, { recursive: true });
  await copyFile((await tinyModels()).chat, join(models, "pulled.gguf"));
  const config =
    '[vectorstore]\nhandbook = false\n[[models]]\nname = "best"\ntype = "chat"\nsource = "auto"\n';
  await writeFile(join(folder.path, "paddock.toml"), config);
  const listed = await runPaddock(["models", "--json"], { cwd: folder.path });
  expect(JSON.parse(listed.stdout).models).toMatchObject([
    { name: "best", configured: true, path: join(models, "pulled.gguf") },
  ]);
  await using node = await servePaddock({ cwd: folder.path });
  const info = await (await fetch(`${node.origin}/v1/info`)).json();
  expect(info).toMatchObject({
    models: [{ name: "best", ctx_size: 4096, batch_size: 512, n_gpu_layers: 0 }],
  });
  const said = node
    .stderr()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
  expect(said).toContainEqual(
    expect.objectContaining({
      msg: "a model was chosen",
      model: "best",
      source: join(models, "pulled.gguf"),
      why: "the largest pulled model that fits the memory comfortably",
    }),
  );
  expect(said).toContainEqual(
    expect.objectContaining({
      msg: "sizes were chosen for the machine",
      model: "best",
      ctx_size: 4096,
      batch_size: 512,
      n_gpu_layers: 0,
      why: expect.stringContaining("free memory"),
    }),
  );
});
