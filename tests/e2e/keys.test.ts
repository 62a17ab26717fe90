import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ConfiguredNode, configuredNode } from "../support/configured-node.ts";
import { oldKeysFile } from "../support/old-keys-file.ts";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { listeningNode, tinyChatConfig, tinyEmbeddingConfig } from "../support/tiny-node.ts";

describe("paddock keys", () => {
  let node: ConfiguredNode;
  beforeAll(async () => {
    node = await configuredNode(await tinyChatConfig());
  });
  afterAll(() => node[Symbol.asyncDispose]());

  const keys = (...args: string[]) => runPaddock(["keys", ...args], { cwd: node.cwd });
  const chat = { model: "tiny-chat", max_tokens: 1, messages: [{ role: "user", content: "hi" }] };
  const post = (path: string, body: object, key?: string): Promise<Response> =>
    fetch(`${node.origin}/v1${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(body),
    });

  test("gives out keys that a running node heeds at once, and takes them back", async () => {
    const ask = async (path: string, body: object, key?: string): Promise<[number, unknown]> => {
      const response = await post(path, body, key);
      const answer = (await response.json()) as { error?: { code: string } };
      return [response.status, answer.error?.code];
    };
    const embed = { model: "tiny-embedding", input: "a" };
    expect(await ask("/chat/completions", chat)).toEqual([200, undefined]);

    const created = await keys("create", "ada", "--scope", "chat", "--expires", "1d");
    expect(created.stderr).toContain("it is shown this once");
    const key = created.stdout.trim();
    expect(await ask("/chat/completions", chat)).toEqual([401, "invalid_api_key"]);
    expect(await ask("/chat/completions", chat, key)).toEqual([200, undefined]);
    expect(await ask("/chat/completions", { ...chat, rag: true }, key)).toEqual([
      403,
      "insufficient_permissions",
    ]);
    expect(await ask("/embeddings", embed, key)).toEqual([403, "insufficient_permissions"]);
    expect(node.stderr()).not.toContain(key);

    const listed = await keys("list");
    expect(listed.stdout).toMatch(
      /^ID +NAME +SCOPES +VECTOR STORES +CREATED +EXPIRES +LIMITS +STATE\n[0-9a-f]{12} +ada +chat .* valid\n$/,
    );
    expect(listed.stdout).not.toContain(key.slice(16));
    expect((await keys("revoke", "ada")).stdout).toContain("Revoked the key 'ada'");
    expect(await ask("/chat/completions", chat, key)).toEqual([401, "invalid_api_key"]);
    const json = JSON.parse((await keys("list", "--json")).stdout);
    expect(json).toMatchObject([{ name: "ada", scopes: ["chat"], state: "revoked" }]);
  });

  test("gives limits to a key, which a running node holds it to", async () => {
    const limits = ["--requests-per-minute", "2", "--tokens-per-minute", "0", "--concurrency", "9"];
    const created = await keys("create", "bob", ...limits, "--json");
    const { key, ...said } = JSON.parse(created.stdout);
    expect(said).toMatchObject({ requests_per_minute: 2, tokens_per_minute: 0, concurrency: 9 });
    expect((await keys("list")).stdout).toContain("2 requests/min, any tokens/min, 9 at once");
    const listed: { name: string }[] = JSON.parse((await keys("list", "--json")).stdout);
    expect(listed.filter(({ name }) => name === "bob")).toEqual([said]);
    const ask = () => post("/chat/completions", chat, key);
    const answers = [await ask(), await ask(), await ask()];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    const [first, , third] = answers;
    expect(first?.headers.get("x-ratelimit-remaining-requests")).toBe("1");
    expect(Number(third?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await third?.json()).toMatchObject({
      error: {
        type: "requests",
        code: "rate_limit_exceeded",
        message: expect.stringContaining("The key 'bob' may make 2 requests a minute."),
      },
    });
  });

  test("leaves a running node answering while another process keeps their file locked", async () => {
    const path = join(node.cwd, ".paddock", "keys.sqlite");
    const key = (await keys("create", "eve")).stdout.trim();
    const status = async (offered: string) =>
      (await post("/chat/completions", chat, offered)).status;
    expect(await status(key)).toBe(200);
    using lock = await locked(path);
    expect([await status(key), await status("wrong")]).toEqual([503, 503]);
    const refused = await (await post("/chat/completions", chat, key)).json();
    expect(refused).toMatchObject({
      error: { message: expect.stringContaining("another process keeps it locked") },
    });
    expect(JSON.stringify(refused)).not.toContain(node.cwd);
    expect((await fetch(`${node.origin}/health`)).status).toBe(200);
    const ready = await fetch(`${node.origin}/ready`);
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringContaining("keys.sqlite in the data dir cannot be read"),
    ]);
    lock.run("rollback");
    expect([await status(key), await status("wrong")]).toEqual([200, 401]);
  });

  test("lets a node that starts wait for another process that keeps their file locked", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "keys.sqlite");
    oldKeysFile(path, "s".repeat(43));
    using lock = await locked(path);
    await writeFile(join(folder.path, "paddock.toml"), await tinyEmbeddingConfig());
    // Far longer than a node waits that has begun to answer.
    const release = setTimeout(() => lock.run("rollback"), 3000);
    const env = { PADDOCK_DATA_DIR: folder.path };
    await using served = await servePaddock({ cwd: folder.path, env });
    clearTimeout(release);
    const asked = await fetch(`${served.origin}/v1/embeddings`, { method: "POST", body: "{}" });
    expect(asked.status).toBe(401);
  });

  test("goes on with a file of keys that was made before they had limits", async () => {
    await using folder = await tempDir();
    const secret = "s".repeat(43);
    oldKeysFile(join(folder.path, "keys.sqlite"), secret);
    const env = { PADDOCK_DATA_DIR: folder.path };
    await using served = await listeningNode(await tinyEmbeddingConfig(), env);
    const response = await fetch(`${served.baseUrl}/embeddings`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer pk_0123456789ab_${secret}`,
      },
      body: JSON.stringify({ model: "tiny-embedding", input: "a" }),
    });
    expect(response.status).toBe(200);
    const listed = await runPaddock(["keys", "list"], { cwd: folder.path, env });
    expect(listed.stdout).toContain("the node's");
  });

  test("lets a node serve others once a key was given out, which may be bound to a collection", async () => {
    await using folder = await tempDir();
    const toml = (await tinyEmbeddingConfig()).replace(
      "handbook = false",
      "handbook = false\nscore_threshold = -1",
    );
    await writeFile(join(folder.path, "paddock.toml"), toml);
    await writeFile(join(folder.path, "llamas.md"), "Llamas hum.");
    await writeFile(join(folder.path, "bees.md"), "Bees buzz.");
    const run = (...args: string[]) => runPaddock(args, { cwd: folder.path });
    const refused = await run("serve", "--port", "0", "--host", "0.0.0.0");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("no API key")]);
    await run("ingest", "bees.md");
    await run("ingest", "llamas.md", "--collection", "handbook");
    const bind = ["keys", "create", "reader", "--scope", "retrieve", "--vector-store"];
    const key = (await run(...bind, "handbook:read", "--max-bytes", "1000000")).stdout.trim();
    const listed = JSON.parse((await run("keys", "list", "--json")).stdout);
    expect(listed).toMatchObject([{ vector_stores: ["vs_handbook:read"], max_bytes: 1_000_000 }]);
    await using open = await servePaddock({ cwd: folder.path }, ["--host", "0.0.0.0"]);
    const origin = `http://127.0.0.1:${new URL(open.origin).port}`;
    expect((await fetch(`${origin}/health`)).status).toBe(200);
    const retrieve = async (rest: object = {}): Promise<[number, unknown]> => {
      const response = await fetch(`${origin}/v1/retrieve`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
        body: JSON.stringify({
          model: "tiny-embedding",
          messages: [{ role: "user", content: "Llamas" }],
          ...rest,
        }),
      });
      return [response.status, await response.json()];
    };
    expect(await retrieve()).toMatchObject([200, { points: [{ source: "Llamas hum." }] }]);
    expect(await retrieve({ collection: "handbook" })).toMatchObject([200, { points: [{}] }]);
    expect((await retrieve({ collection: "default" }))[0]).toBe(404);
  });

  test.each([
    [
      ["create", "a", "--scope", "everything"],
      2,
      "choices are chat, embeddings, retrieve, documents",
    ],
    [["create", "a", "--expires", "soon"], 1, "'soon' is no time"],
    [["create", "a", "--vector-store", "nothing"], 1, "There is no vector store 'nothing'"],
    [["create", "a", "--max-bytes", "many"], 1, "--max-bytes must be a whole number"],
    [["create", "a", "--concurrency", "many"], 1, "--concurrency must be a whole number"],
    [["create", "../up"], 1, "cannot be a key's name"],
    [["revoke", "nobody"], 1, "There is no key 'nobody'"],
  ])("refuses %j in a sentence", async (args, code, message) => {
    await using folder = await tempDir();
    const result = await runPaddock(["keys", ...args], { cwd: folder.path });
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});

/** Puts a copy in the place of a file, and keeps it locked, also for those who only read it. */
async function locked(path: string): Promise<Database> {
  await copyFile(path, `${path}.copy`);
  const lock = new Database(`${path}.copy`);
  lock.run("pragma journal_mode = delete");
  lock.run("begin exclusive");
  await rename(`${path}.copy`, path);
  return lock;
}
