import { describe, expect, test } from "bun:test";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { honest, modelServer } from "../support/model-server.ts";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";

const config =
  '[vectorstore]\nhandbook = false\n[[models]]\nname = "m"\ntype = "chat"\nsource = "hf:owner/repo/tiny.gguf"\n';

const localHub = async () => {
  const file = honest(await Bun.file((await tinyModels()).chat).bytes());
  return await modelServer((asked) =>
    asked.path === "/owner/repo/resolve/main/tiny.gguf" ? file(asked) : { status: 404 },
  );
};

describe("a model from a hub", () => {
  test("is downloaded into the data dir by the first start that needs it, and then kept", async () => {
    await using hub = await localHub();
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), config);
    const options = { cwd: folder.path, env: { HF_ENDPOINT: hub.url } };
    {
      await using node = await servePaddock(options);
      expect((await fetch(`${node.origin}/ready`)).status).toBe(200);
      expect(node.stderr()).toContain("Downloading hf_owner_repo_tiny.gguf");
    }
    expect((await readdir(join(folder.path, ".paddock", "models"))).sort()).toEqual([
      "digests.json",
      "hf_owner_repo_tiny.gguf",
      "hf_owner_repo_tiny.gguf.origin.json",
    ]);
    const asked = hub.asked.length;
    await using again = await servePaddock(options);
    expect((await fetch(`${again.origin}/ready`)).status).toBe(200);
    expect(hub.asked).toHaveLength(asked);
  });

  test("that is not there stops the start with a clear word", async () => {
    await using hub = await localHub();
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), config.replace("tiny", "missing"));
    const { code, stderr } = await runPaddock(["serve", "--port", "0"], {
      cwd: folder.path,
      env: { HF_ENDPOINT: hub.url },
    });
    expect(code).toBe(1);
    expect(stderr).toContain(
      "The model 'hf:owner/repo/missing.gguf' cannot be fetched: the repository owner/repo has no file",
    );
  });
});
