import { describe, expect, test } from "bun:test";
import { link, lstat, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { runPaddock } from "../support/paddock-process.ts";
import { canMakeDisks, smallDisk } from "../support/small-disk.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";

/** Without what Bun keeps in a home. */
const filesIn = async (path: string): Promise<string[]> =>
  (await readdir(path)).filter((name) => name !== ".bun");

const load = (text: string) =>
  loadConfig({ file: { path: "paddock.toml", text }, env: {}, flags: {} });
const defaults = loadConfig({ env: {}, flags: {} });

const hasDisks = await canMakeDisks();

describe("paddock init", () => {
  test("writes a file that loads, and is the defaults with this machine's threads", async () => {
    await using folder = await tempDir();
    const file = join(folder.path, "paddock.toml");
    const { code, stdout } = await runPaddock(["init"], { cwd: folder.path });
    expect([code, stdout]).toEqual([0, expect.stringContaining("Wrote paddock.toml.")]);
    const config = load(await Bun.file(file).text());
    expect(config.engine.threads).toBeGreaterThan(0);
    expect(config.engine.threads).toBeLessThanOrEqual(availableParallelism());
    expect({ ...config, engine: { ...config.engine, threads: 0 } }).toEqual({
      ...defaults,
      models_folder: { ...defaults.models_folder, serve: "all" },
    });
  });

  test("leaves a file that is there alone, unless it is told to write over it", async () => {
    await using folder = await tempDir();
    const file = join(folder.path, "paddock.toml");
    await writeFile(file, "port = 1\n");
    const refused = await runPaddock(["init"], { cwd: folder.path });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      "paddock.toml is there already. Say --force to write over it, or --stdout to only see the new one.\n",
    ]);
    expect(await Bun.file(file).text()).toBe("port = 1\n");
    expect((await runPaddock(["init", "--force"], { cwd: folder.path })).code).toBe(0);
    expect(load(await Bun.file(file).text()).port).toBe(8080);
  });

  test("writes over a file whole or not at all, where a link leads, with the rights that it had", async () => {
    await using folder = await tempDir();
    const file = join(folder.path, "real.toml");
    await writeFile(file, "port = 1\n", { mode: 0o600 });
    await link(file, join(folder.path, "before.toml"));
    await symlink(file, join(folder.path, "paddock.toml"));
    expect((await runPaddock(["init", "--force"], { cwd: folder.path })).code).toBe(0);
    expect(load(await Bun.file(file).text()).port).toBe(8080);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    // Another name of the former file shows that it was not written itself.
    expect(await Bun.file(join(folder.path, "before.toml")).text()).toBe("port = 1\n");
    expect((await lstat(join(folder.path, "paddock.toml"))).isSymbolicLink()).toBe(true);
    expect((await filesIn(folder.path)).toSorted()).toEqual([
      "before.toml",
      "paddock.toml",
      "real.toml",
    ]);
  });

  test.skipIf(!hasDisks)(
    "leaves what there was where the disk is full, and no half of a file",
    async () => {
      await using disk = await smallDisk(1);
      const file = join(disk.path, "paddock.toml");
      await writeFile(file, "port = 1\n");
      // Room for a page or two of the new file.
      await writeFile(join(disk.path, "filling"), Buffer.alloc((1 << 20) - 12_288));
      expect((await runPaddock(["init", "--force"], { cwd: disk.path })).code).toBe(1);
      expect(await Bun.file(file).text()).toBe("port = 1\n");
      await rm(file);
      const { code, stderr } = await runPaddock(["init"], { cwd: disk.path });
      expect([code, stderr]).toEqual([1, expect.stringContaining("was not written")]);
      expect(await filesIn(disk.path)).toEqual(["filling"]);
    },
  );

  test("prints it and writes nothing, with the settings of the command line but no key of the environment", async () => {
    await using folder = await tempDir();
    const env = { PADDOCK_API_KEYS: "a-long-secret" };
    const args = ["init", "--stdout", "--port", "9000", "--rag-policy", "system-message"];
    const { code, stdout } = await runPaddock(args, { cwd: folder.path, env });
    expect(code).toBe(0);
    expect(load(stdout)).toMatchObject({ port: 9000, rag: { policy: "system-message" } });
    expect(stdout).not.toContain("a-long-secret");
    expect(await filesIn(folder.path)).toEqual([]);
  });

  test("puts a model in the place of the starter model of its kind", async () => {
    await using folder = await tempDir();
    const { chat, embedding, reranker } = await tinyModels();
    const modelsWith = async (model: string) => {
      const { stdout } = await runPaddock(["init", "--stdout", "--model", model], {
        cwd: folder.path,
      });
      return load(stdout).models.map(({ type, source }) => [type, source]);
    };
    expect(await modelsWith(chat)).toEqual([
      ["chat", chat],
      ["embedding", "starter:embedding"],
    ]);
    expect(await modelsWith(embedding)).toEqual([
      ["embedding", embedding],
      ["chat", "starter:chat"],
    ]);
    const ranks = ["init", "--stdout", "--model", reranker];
    const { models, retrieval } = load((await runPaddock(ranks, { cwd: folder.path })).stdout);
    expect(models.map(({ type, name }) => [type, name])).toEqual([
      ["reranker", "tiny-reranker"],
      ["chat", "TinyLlama-1.1B-Chat-v1.0"],
      ["embedding", "all-MiniLM-L6-v2"],
    ]);
    expect(retrieval.reranker).toBe("tiny-reranker");
    const gone = await runPaddock(["init", "--model", "gone.gguf"], { cwd: folder.path });
    expect([gone.code, gone.stderr]).toEqual([
      1,
      expect.stringContaining("gone.gguf' cannot be read"),
    ]);
    expect(await filesIn(folder.path)).toEqual([]);
  });
});
