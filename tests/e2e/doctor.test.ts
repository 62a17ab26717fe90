import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmod, copyFile, mkdir, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { folderDigest } from "../support/folder-digest.ts";
import { type HeldEmbeddings, heldEmbeddings } from "../support/held-embeddings.ts";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { qdrantForTests, startQdrant } from "../support/qdrant-server.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";
import { tinyConfig, tinyEmbeddingConfig } from "../support/tiny-node.ts";

interface Report {
  ok: boolean;
  findings: { check: string; status: string; message: string; remedy?: string }[];
}

/** Bun keeps things of its own in a home, which is not what is looked at. */
let home: TempDir;
let far: HeldEmbeddings;
beforeAll(async () => {
  home = await tempDir();
  far = heldEmbeddings();
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await far[Symbol.asyncDispose]();
});

async function examine(cwd: string, args: readonly string[] = [], env = {}) {
  const { code, stdout, stderr } = await runPaddock(["doctor", "--json", "--port", "0", ...args], {
    cwd,
    env: { HOME: home.path, ...env },
  });
  expect(stderr).not.toContain(" at ");
  const report: Report = JSON.parse(stdout);
  expect(code).toBe(report.ok ? 0 : 1);
  const problems = report.findings.filter(({ status }) => status === "problem");
  for (const { remedy } of problems) expect(remedy).toBeString();
  const find = (name: string) => report.findings.find(({ check }) => check === name);
  return { report, problems: problems.map(({ check, message }) => [check, message]), find };
}

async function folderWith(config: string): Promise<TempDir> {
  const folder = await tempDir();
  await writeFile(join(folder.path, "paddock.toml"), config);
  return folder;
}

/** Its model runs elsewhere, so that no engine is tried for what has nothing to do with it. */
const farFolder = (before = ""): Promise<TempDir> =>
  folderWith(
    `${before}\n[[models]]\nname = "tiny-embedding"\ntype = "embedding"\nsource = "openai:${far.url}/v1"\n`,
  );

describe("paddock doctor", () => {
  test("finds nothing wrong with a node that served, in lines for a person", async () => {
    await using folder = await folderWith(await tinyConfig());
    await writeFile(join(folder.path, "a.md"), "# A\n\nApples are red.\n");
    const env = { HOME: home.path };
    await runPaddock(["ingest", "a.md"], { cwd: folder.path, env });
    await runPaddock(["keys", "create", "ada"], { cwd: folder.path, env });
    const before = await folderDigest(folder.path);
    const { code, stdout, stderr } = await runPaddock(["doctor", "--port", "0"], {
      cwd: folder.path,
      env,
    });
    expect([code, stderr]).toEqual([0, ""]);
    const lines = stdout.split("\n");
    expect(lines.slice(0, 3)).toEqual([
      "ok      configuration: paddock.toml is valid.",
      expect.stringMatching(/^ok {6}engine: llama\.cpp .* loads, with \d+ threads? \(.*\)\.$/),
      expect.stringMatching(/^ok {6}model tiny-chat: .* is whole: llama, F32, .* of memory\.$/),
    ]);
    expect(stdout).toContain(
      "ok      store: The collection 'default' is sound: 1 passages, embedded.",
    );
    expect(stdout).toContain("'tiny-embedding' is the model that filled 'default'.");
    expect(stdout).toContain("keys.sqlite can be read by its owner only.");
    expect(lines.slice(-2)).toEqual(["The node can be started.", ""]);
    expect(await folderDigest(folder.path)).toEqual(before);
  });

  test("changes nothing on disk: where there is nothing, while a node runs and where it was killed", async () => {
    await using folder = await folderWith(await tinyEmbeddingConfig());
    const empty = await folderDigest(folder.path);
    expect((await examine(folder.path)).problems).toEqual([]);
    expect(await folderDigest(folder.path)).toEqual(empty);
    await using node = await servePaddock({ cwd: folder.path, env: { HOME: home.path } });
    const { port } = new URL(node.origin);
    const { find, problems } = await examine(folder.path, ["--port", port]);
    expect(problems).toEqual([]);
    expect(find("port")?.message).toMatch(
      new RegExp(`^A Paddock node listens on 127\\.0\\.0\\.1:${port} already`),
    );
    node.process.kill("SIGKILL");
    await node.exit();
    const killed = await folderDigest(folder.path);
    expect(Object.keys(killed)).toContain(".paddock/collections/default.sqlite-wal");
    expect((await examine(folder.path)).problems).toEqual([]);
    expect(await folderDigest(folder.path)).toEqual(killed);
  });

  test("says that another program has the port", async () => {
    await using folder = await farFolder();
    const server = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? String(address?.port) : "";
    const { problems } = await examine(folder.path, ["--port", port]);
    server.close();
    expect(problems).toEqual([["port", `Port ${port} on 127.0.0.1 is in use by another program.`]]);
  });

  test.each<[string, Record<string, string>, string]>([
    ["log_level = 'loud'", {}, "paddock.toml: 'log_level' must be 'debug'"],
    ["prot = 1", {}, "Did you mean 'port'?"],
    ["", { PADDOCK_PROT: "1" }, "Did you mean 'PADDOCK_PORT'?"],
    ["", { PADDOCK_CONFIG: "gone.toml" }, "gone.toml: the configuration file cannot be read"],
  ])("names what is wrong with the configuration: %j %j", async (toml, env, message) => {
    await using folder = await farFolder(toml);
    const { problems } = await examine(folder.path, [], env);
    expect(problems).toEqual([["configuration", expect.stringContaining(message)]]);
  });

  test("finds models that are gone, cut off, no models, or models of another kind", async () => {
    await using folder = await tempDir();
    const { chat, embedding, reranker } = await tinyModels();
    await copyFile(chat, join(folder.path, "cut.gguf"));
    const { size } = Bun.file(chat);
    await truncate(join(folder.path, "cut.gguf"), size - 1000);
    await writeFile(join(folder.path, "page.gguf"), "<html>not found</html>");
    const models = [
      ["chat", "gone.gguf"],
      ["chat", "cut.gguf"],
      ["chat", "page.gguf"],
      ["chat", embedding],
      ["reranker", embedding],
      ["embedding", reranker],
      ["reranker", reranker],
    ] as const;
    const toml = models
      .map(
        ([type, source], at) =>
          `[[models]]\nname = "m${at}"\ntype = "${type}"\nsource = "${source}"\n`,
      )
      .join("");
    await writeFile(join(folder.path, "paddock.toml"), toml);
    expect((await examine(folder.path)).problems).toEqual([
      ["model m0", "The model file 'gone.gguf' does not exist."],
      ["model m1", "cut.gguf is cut off: 1 kB are missing."],
      ["model m2", expect.stringMatching(/^page\.gguf is not a GGUF file: .*\.$/)],
      ["model m3", "It is configured to chat, but its file is a model for embeddings."],
      ["model m4", "It is configured for ranking, but its file is a model for embeddings."],
      ["model m5", "It is configured for embeddings, but its file is a model for ranking."],
    ]);
  });

  test("finds LoRA adapters that are gone, and no adapters", async () => {
    const { chat } = await tinyModels();
    const model = (name: string, path: string): string =>
      `[[models]]\nname = "${name}"\ntype = "chat"\nsource = "${chat}"\nlora = [{ path = "${path}" }]\n`;
    await using folder = await folderWith(model("m0", "gone.gguf") + model("m1", "page.gguf"));
    await writeFile(join(folder.path, "page.gguf"), "<html>not found</html>");
    expect((await examine(folder.path)).problems).toEqual([
      ["model m0", `The LoRA adapter '${join(folder.path, "gone.gguf")}' does not exist.`],
      ["model m1", expect.stringMatching(/^page\.gguf is not a GGUF file: .*\.$/)],
    ]);
  });

  test("finds a collection that another model filled, and one that is damaged", async () => {
    await using folder = await folderWith(await tinyEmbeddingConfig());
    const { embedding } = await tinyModels();
    await writeFile(join(folder.path, "a.md"), "# A\n\nApples are red.\n");
    await runPaddock(["ingest", "a.md"], { cwd: folder.path, env: { HOME: home.path } });
    const bytes = await readFile(embedding);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
    await writeFile(join(folder.path, "other.gguf"), bytes);
    const config = (await tinyEmbeddingConfig()).replace(JSON.stringify(embedding), '"other.gguf"');
    await writeFile(join(folder.path, "paddock.toml"), config);
    expect((await examine(folder.path)).problems).toEqual([
      ["store and model", expect.stringContaining("of the same name but with other weights")],
    ]);
    const file = join(folder.path, ".paddock", "collections", "default.sqlite");
    await writeFile(file, "this is not a database at all, but somebody's notes".repeat(100));
    expect((await examine(folder.path)).problems).toEqual([
      ["store", "The collection 'default' cannot be opened: file is not a database."],
    ]);
  });

  test("finds a node that strangers could use, and keys that others can read", async () => {
    await using folder = await farFolder('host = "0.0.0.0"');
    expect((await examine(folder.path)).problems).toEqual([
      ["exposure", expect.stringContaining("there is no API key")],
    ]);
    await runPaddock(["keys", "create", "ada"], { cwd: folder.path, env: { HOME: home.path } });
    await chmod(join(folder.path, ".paddock", "keys.sqlite"), 0o644);
    expect((await examine(folder.path)).problems).toEqual([
      ["keys file", expect.stringContaining("Others than its owner can read or write")],
    ]);
  });

  test("finds keys on a disk that is away", async () => {
    await using folder = await farFolder();
    await mkdir(join(folder.path, ".paddock"), { mode: 0o700 });
    await symlink(join(folder.path, "away"), join(folder.path, ".paddock", "keys.sqlite"));
    expect((await examine(folder.path)).problems).toContainEqual([
      "keys file",
      expect.stringContaining("is a link to no file"),
    ]);
  });

  test("says who can use a node without keys", async () => {
    await using folder = await farFolder();
    const exposure = async (env: Record<string, string>) => {
      const { find } = await examine(folder.path, [], env);
      const finding = find("exposure");
      return [finding?.status, finding?.message];
    };
    expect(await exposure({})).toEqual([
      "ok",
      "The node listens on 127.0.0.1; no key is wanted, and what a proxy passes on is refused.",
    ]);
    expect(await exposure({ PADDOCK_AUTH_OPEN: "true" })).toEqual([
      "note",
      expect.stringContaining("everyone who reaches it, also through a proxy"),
    ]);
    expect(await exposure({ PADDOCK_ALLOWED_HOSTS: "node.example.org" })).toEqual([
      "note",
      expect.stringContaining("a proxy for 'node.example.org'"),
    ]);
    expect(await exposure({ PADDOCK_API_KEYS: "a-long-secret" })).toEqual([
      "ok",
      "The node listens on 127.0.0.1; one key opens it.",
    ]);
  });

  test("finds that the data dir is a file", async () => {
    await using folder = await farFolder();
    await writeFile(join(folder.path, "taken"), "");
    const { problems } = await examine(folder.path, ["--data-dir", "taken"]);
    expect(problems).toEqual([["data dir", expect.stringContaining("is not a folder")]]);
    await mkdir(join(folder.path, "open"));
    await chmod(join(folder.path, "open"), 0o750);
    const file = join(folder.path, "paddock.toml");
    await writeFile(
      file,
      `${await readFile(file, "utf8")}\n[auth]\napi_keys = ["a-long-secret"]\n`,
    );
    await chmod(file, 0o644);
    const { find } = await examine(folder.path, ["--data-dir", "open"]);
    expect(find("configuration file")).toMatchObject({
      status: "note",
      message: expect.stringMatching(/paddock\.toml.*auth\.api_keys.*rights are 644/),
      remedy: expect.stringContaining("chmod 600"),
    });
    expect(find("data dir")).toMatchObject({
      status: "note",
      message: expect.stringContaining("(its rights are 750)"),
      remedy: expect.stringContaining("chmod 700"),
    });
  });

  const qdrant = qdrantForTests();
  test.skipIf(qdrant?.isOwn !== true)(
    "looks at a Qdrant server, its version and its key",
    async () => {
      await using server = await startQdrant({ apiKey: "right-key" });
      await using folder = await farFolder();
      const args = ["--vectorstore-url", server.url];
      const right = await examine(folder.path, args, { PADDOCK_VECTORSTORE_API_KEY: "right-key" });
      expect(right.problems).toEqual([]);
      expect(right.find("store")?.message).toMatch(
        /^Qdrant 1\.\d+\.\d+ at .* answers; there is no collection/,
      );
      const wrong = await examine(folder.path, args, { PADDOCK_VECTORSTORE_API_KEY: "wrong-key" });
      expect(wrong.problems).toEqual([["store", expect.stringContaining("refuses the API key")]]);
      await server.kill();
      const away = await examine(folder.path, args, { PADDOCK_VECTORSTORE_API_KEY: "right-key" });
      expect(away.problems).toEqual([["store", expect.stringContaining("cannot be reached")]]);
    },
  );
});
