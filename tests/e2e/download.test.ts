import { describe, expect, test } from "bun:test";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";

const config =
  '[vectorstore]\nhandbook = false\n[[models]]\nname = "m"\ntype = "chat"\nsource = "hf:owner/repo/tiny.gguf"\n';

/** A hub that has one file, answers ranges, and counts what it was asked for. */
async function localHub() {
  const file = Bun.file((await tinyModels()).chat);
  const bytes = await file.bytes();
  let requests = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      requests++;
      if (new URL(request.url).pathname !== "/owner/repo/resolve/main/tiny.gguf") {
        return new Response("no such file", { status: 404 });
      }
      const headers = { "accept-ranges": "bytes", "content-type": "application/octet-stream" };
      const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "");
      if (range === null) return new Response(bytes, { headers });
      const start = Number(range[1]);
      const end = range[2] ? Number(range[2]) : bytes.length - 1;
      return new Response(bytes.slice(start, end + 1), {
        status: 206,
        headers: { ...headers, "content-range": `bytes ${start}-${end}/${bytes.length}` },
      });
    },
  });
  return {
    url: server.url.origin,
    requests: () => requests,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

describe("a model from a hub", () => {
  test("is downloaded into the data dir by the first start that needs it, and then kept", async () => {
    await using hub = await localHub();
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), config);
    const options = { cwd: folder.path, env: { HF_ENDPOINT: hub.url } };
    {
      await using node = await servePaddock(options);
      expect((await fetch(`${node.origin}/ready`)).status).toBe(200);
      expect(node.stderr()).toContain("Downloading hf:owner/repo/tiny.gguf");
    }
    expect(await readdir(join(folder.path, ".paddock", "models"))).toHaveLength(1);
    const asked = hub.requests();
    await using again = await servePaddock(options);
    expect((await fetch(`${again.origin}/ready`)).status).toBe(200);
    expect(hub.requests()).toBe(asked);
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
    expect(stderr).toContain("The model 'hf:owner/repo/missing.gguf' cannot be downloaded");
  });
});
