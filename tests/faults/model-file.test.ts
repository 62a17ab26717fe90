/** A model's file is missing, cut off, replaced or of another kind: at the start, and under a running node. */
import { describe, expect, test } from "bun:test";
import { copyFile, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { architecture, header } from "../support/gguf-bytes.ts";
import { chatBody, embeddingBody, nodeUnderFault } from "../support/node-under-fault.ts";
import { runPaddock } from "../support/paddock-process.ts";
import { runnerOf } from "../support/process-tree.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";

/** What can become of a model's file; each leaves something else in its place. */
const damages: readonly (readonly [string, (path: string) => Promise<void>])[] = [
  ["missing", (path) => rm(path)],
  ["cut off", async (path) => writeFile(path, (await readFile(path)).subarray(0, 20_000))],
  [
    "cut off in its header",
    async (path) => writeFile(path, (await readFile(path)).subarray(0, 100)),
  ],
  ["random bytes", (path) => writeFile(path, crypto.getRandomValues(new Uint8Array(60_000)))],
  [
    "random bytes after its header",
    async (path) => {
      const bytes = await readFile(path);
      await writeFile(path, Buffer.concat([bytes.subarray(0, 300), Buffer.alloc(30_000, 0xa5)]));
    },
  ],
  ["empty", (path) => writeFile(path, "")],
  [
    "a header that counts 2^63 keys",
    (path) => writeFile(path, header({ keys: 2n ** 63n }, architecture)),
  ],
  [
    "a model of another architecture",
    async (path) => {
      const bytes = (await readFile(path)).toString("latin1").replaceAll("llama", "nomad");
      await writeFile(path, Buffer.from(bytes, "latin1"));
    },
  ],
  ["an embedding model", async (path) => copyFile((await tinyModels()).embedding, path)],
];

async function copyOfModel(folder: string): Promise<string> {
  const path = join(folder, "model.gguf");
  await copyFile((await tinyModels()).chat, path);
  return path;
}

describe("at the start a model's file is", () => {
  test.each(damages)(
    "%s: the node says which model and why, and ends with 1",
    async (_, damage) => {
      await using folder = await tempDir();
      const path = await copyOfModel(folder.path);
      await damage(path);
      const config = '[[models]]\nname = "talker"\ntype = "chat"\nsource = "model.gguf"\n';
      await writeFile(join(folder.path, "paddock.toml"), config);
      const { code, stderr } = await runPaddock(["serve", "--port", "0"], { cwd: folder.path });
      expect(code).toBe(1);
      const said = stderr.trim().split("\n").at(-1) ?? "";
      expect(said).toMatch(
        /^The model (file 'model\.gguf' does not exist|'talker' cannot be loaded: .{10,})/,
      );
    },
  );
});

test("at the start a model's file has another digest than the configuration says: both are named", async () => {
  await using folder = await tempDir();
  const path = await copyOfModel(folder.path);
  const found = new Bun.CryptoHasher("sha256").update(await readFile(path)).digest("hex");
  const expected = "0".repeat(64);
  const config = `[[models]]\nname = "talker"\ntype = "chat"\nsource = "model.gguf"\nsha256 = "${expected}"\n`;
  await writeFile(join(folder.path, "paddock.toml"), config);
  const { code, stderr } = await runPaddock(["serve", "--port", "0"], { cwd: folder.path });
  expect(code).toBe(1);
  expect(stderr).toContain(`its sha256 is ${found}, expected ${expected}. Remove it and pull`);
});

describe("under a running node a model's file becomes", () => {
  test("unusable: the model answers until its process dies, then 503; back in place it is loaded", async () => {
    await using folder = await tempDir();
    const path = await copyOfModel(folder.path);
    const chatSettings = `ctx_size = 2048\n[[models]]\nname = "other"\ntype = "chat"\nsource = ${JSON.stringify(path)}`;
    await using under = await nodeUnderFault({ chatSettings });
    const ask = () => under.post("/chat/completions", { ...chatBody("hi", 3), model: "other" });
    // Each failure makes the next pause longer, so not all of them.
    for (const [name, damage] of damages.filter(([known]) =>
      /missing|^random bytes$/.test(known),
    )) {
      const kept = `${path}.kept`;
      await copyFile(path, kept);
      // As those do it who care: the running process keeps the file that it has.
      await rename(path, `${path}.old`);
      await copyFile(kept, path);
      await damage(path);
      expect([name, (await ask()).status]).toEqual([name, 200]);
      process.kill(await runnerOf(under.node.process.pid, "other"), "SIGKILL");
      const refused = await ask();
      expect([name, refused.status]).toEqual([name, 503]);
      const text = await refused.text();
      expect(text).toContain("The model 'other' failed and cannot be loaded again for now");
      expect(text).not.toContain(folder.path);
      expect((await under.ready()).reasons).toEqual([
        expect.stringContaining("The model 'other' failed"),
      ]);
      // The others do not feel it.
      expect((await under.post("/chat/completions", chatBody("hi", 3))).status).toBe(200);
      expect((await under.post("/embeddings", embeddingBody(["a"]))).status).toBe(200);
      await rename(kept, path);
      await under.expectWell();
      expect((await ask()).status).toBe(200);
    }
  });
});
