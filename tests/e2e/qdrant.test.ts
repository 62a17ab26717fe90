/** A node on a Qdrant server that comes and goes. */
import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { decode } from "../support/decode.ts";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { qdrantForTests, startQdrant } from "../support/qdrant-server.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyConfig, tinyEmbeddingConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

const post = (origin: string, path: string, body: unknown): Promise<Response> =>
  fetch(`${origin}/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const messages = [{ role: "user", content: "llamas" }];
const question = { model: "tiny-embedding", messages };
const chat = { model: "tiny-chat", max_tokens: 2, rag: true, messages };

/** Asks until the node can answer, as a client that heeds `retry-after` does. */
async function recovered(origin: string): Promise<RetrieveResult> {
  let response = await post(origin, "/retrieve", question);
  await waitFor("the node to recover", async () => {
    if (response.status === 200) return true;
    expect(response.status).toBe(503);
    await response.body?.cancel();
    response = await post(origin, "/retrieve", question);
    return false;
  });
  return await decode(RetrieveResult, response);
}

// The server is killed and paused here, which only one of the tests' own may be.
describe.skipIf(!qdrantForTests()?.isOwn)("a node on Qdrant", () => {
  test("serves without it, says so, and recovers by itself", async () => {
    await using folder = await tempDir();
    await using qdrant = await startQdrant();
    const config = (await tinyConfig()).replace(
      "[vectorstore]",
      `[vectorstore]\nurl = "${qdrant.url}"\ntimeout = 1\nscore_threshold = -1`,
    );
    await writeFile(join(folder.path, "paddock.toml"), config);
    await writeFile(join(folder.path, "a.md"), "llamas hum.");
    // Only one that stands still is to be late.
    const env = { PADDOCK_VECTORSTORE_TIMEOUT: "60" };
    const ingested = await runPaddock(["ingest", "a.md"], { cwd: folder.path, env });
    expect(ingested.stdout).toContain("now has 1 passages");

    await qdrant.kill();
    await using node = await servePaddock({ cwd: folder.path });
    const away = await post(node.origin, "/retrieve", question);
    expect(away.status).toBe(503);
    expect(await away.json()).toMatchObject({
      error: { code: "unavailable", message: expect.stringContaining(qdrant.url) },
    });
    const ready = await fetch(`${node.origin}/ready`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: "not ready", reasons: [expect.stringContaining(qdrant.url)] },
    ]);
    const answered = await post(node.origin, "/chat/completions", chat);
    expect(answered.status).toBe(200);
    expect(await answered.json()).toMatchObject({
      retrieval: { points: [], dropped: 0, error: expect.stringContaining(qdrant.url) },
    });
    const vectors = await post(node.origin, "/embeddings", { model: "tiny-embedding", input: "a" });
    expect(vectors.status).toBe(200);

    await qdrant.start();
    expect(await recovered(node.origin)).toMatchObject({ points: [{ source: "llamas hum." }] });
    const isReady = async () => (await fetch(`${node.origin}/ready`)).status === 200;
    await waitFor("the node to be ready", isReady);

    qdrant.pause();
    expect((await post(node.origin, "/retrieve", question)).status).toBe(503);
    expect((await fetch(`${node.origin}/ready`)).status).toBe(503);
    expect((await post(node.origin, "/chat/completions", chat)).status).toBe(200);
    qdrant.resume();
    await recovered(node.origin);

    await qdrant.kill();
    expect((await post(node.origin, "/retrieve", question)).status).toBe(503);
    await qdrant.start();
    await recovered(node.origin);
    const info = await post(node.origin, "/info", undefined);
    expect(await info.json()).toMatchObject({ vectorstore_config: { url: qdrant.url } });
  });

  test("refuses a collection of another model at start, with what to do", async () => {
    await using folder = await tempDir();
    await using qdrant = await startQdrant();
    const env = { PADDOCK_VECTORSTORE_URL: qdrant.url };
    const config = await tinyEmbeddingConfig();
    await writeFile(join(folder.path, "paddock.toml"), config);
    await writeFile(join(folder.path, "a.md"), "llamas hum.");
    expect((await runPaddock(["ingest", "a.md"], { cwd: folder.path, env })).code).toBe(0);
    await writeFile(
      join(folder.path, "paddock.toml"),
      config.replace("tiny-embedding.gguf", "other-embedding.gguf"),
    );
    const { code, stderr } = await runPaddock(["serve", "--port", "0"], { cwd: folder.path, env });
    expect([code, stderr]).toEqual([1, expect.stringContaining("Vectors of two models cannot be")]);
  });
});
