import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readiness } from "../../src/server/operations/node/schema.ts";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { type ConfiguredNode, configuredNode } from "../support/configured-node.ts";
import { decode } from "../support/decode.ts";
import { freePort } from "../support/free-port.ts";
import { heldEmbeddings } from "../support/held-embeddings.ts";
import {
  environmentIn,
  programUnderTest,
  runPaddock,
  type ServingPaddock,
  servePaddock,
  testsExecutable,
} from "../support/paddock-process.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";
import { tinyChatConfig, tinyConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

const key = "a-long-secret";

const rightsOf = async (...path: string[]): Promise<string> =>
  ((await stat(join(...path))).mode & 0o777).toString(8);

const openDataDir = "others on this machine can enter the data dir";
const openSecrets = "everyone on this machine can read the configuration file, which holds secrets";

/**
 * An answer that has begun: the end token is banned, so that it is as long as it may be. Four long
 * ones with log probabilities are more than the node and sockets hold: they are not over before
 * somebody reads them.
 */
async function longStream(origin: string, tokens: number): Promise<Response> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: "tiny-chat",
      stream: true,
      max_tokens: tokens,
      logit_bias: { "2": -100 },
      ...(tokens > 1000 && { logprobs: true, top_logprobs: 20, n: 4 }),
      messages: [{ role: "user", content: "hi" }],
    }),
  });
  expect(response.status).toBe(200);
  return response;
}

describe("paddock serve", () => {
  let node: ConfiguredNode;
  /** What Kubernetes sets beside a Service of this name. */
  const env = {
    PADDOCK_PORT: "tcp://10.96.0.12:8080",
    PADDOCK_SERVICE_HOST: "10.96.0.12",
    PADDOCK_PORT_8080_TCP_ADDR: "10.96.0.12",
  };
  beforeAll(async () => {
    node = await configuredNode(await tinyConfig(), { env });
  });
  afterAll(() => node[Symbol.asyncDispose]());

  test("finds paddock.toml where it is started, and is ready when it says so", async () => {
    expect(await decode(Readiness, await fetch(`${node.origin}/ready`))).toEqual({
      status: "ready",
      reasons: [],
    });
  });

  test("starts beside a Kubernetes Service of its own name, and says what it ignores", () => {
    const lines = node.stderr().split("\n");
    const said = lines.filter((line) => line.includes("Kubernetes"));
    expect(said.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ variables: Object.keys(env) }),
    ]);
  });

  test("keeps its data dir to its owner", async () => {
    expect(node.stderr()).not.toContain(openDataDir);
    expect(node.stderr()).not.toContain(openSecrets);
    expect(await rightsOf(node.cwd, ".paddock")).toBe("700");
    expect(await rightsOf(node.cwd, ".paddock", "collections")).toBe("700");
  });

  test("says plainly that a port is in use, and what to do", async () => {
    const { port } = new URL(node.origin);
    const second = await runPaddock(["serve", "--port", port], { cwd: node.cwd });
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`Port ${port} on 127.0.0.1 is in use.`);
    expect(second.stderr).toContain(`--port ${Number(port) + 1}`);
  });

  test("lets answers in progress end when it is asked to stop, and takes no new ones", async () => {
    const stream = await longStream(node.origin, 300);
    node.process.kill("SIGTERM");
    const text = await stream.text();
    expect(text).toContain("data: [DONE]");
    expect(await node.exit()).toBe(0);
  });
});

describe("paddock serve beside others on the machine", () => {
  let folder: TempDir;
  let node: ServingPaddock;
  const path = (...parts: string[]) => join(folder.path, ...parts);
  beforeAll(async () => {
    folder = await tempDir();
    await mkdir(path("shared"));
    await chmod(path("shared"), 0o755);
    const config = `[auth]\napi_keys = ["${key}"]\n${await tinyConfig()}`;
    await writeFile(path("paddock.toml"), config);
    await chmod(path("paddock.toml"), 0o644);
    const args = ["--data-dir", "shared", "--shutdown-grace", "0"];
    node = await servePaddock({ cwd: folder.path }, args);
  });
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  test("says that its data dir and its secrets are open to them", async () => {
    expect(node.stderr()).toContain(openDataDir);
    expect(node.stderr()).toContain(openSecrets);
    expect(node.stderr()).toContain("chmod 600");
    expect(node.stderr()).not.toContain(key);
    expect(await rightsOf(path("shared"))).toBe("755");
    expect(await rightsOf(path("shared", "collections"))).toBe("700");
  });

  test("ends answers that take longer than it may wait with an error that says so", async () => {
    const stream = await longStream(node.origin, 1900);
    node.process.kill("SIGTERM");
    const text = await stream.text();
    expect(text).toContain('data: {"error":{"message":"The node is stopping.');
    expect(text).not.toContain("[DONE]");
    expect(await node.exit()).toBe(0);
  });
});

describe("paddock serve with settings from everywhere", () => {
  let folder: TempDir;
  let node: ServingPaddock;
  beforeAll(async () => {
    folder = await tempDir();
    const file = join(folder.path, "other.toml");
    await writeFile(file, `port = 1\nlog_level = "nonsense"\n${await tinyChatConfig()}`);
    const env = { PADDOCK_CONFIG: file, PADDOCK_LOG_LEVEL: "error", PADDOCK_PORT: "2" };
    node = await servePaddock({ cwd: folder.path, env }, ["--shutdown-grace", "600"]);
  });
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  test("takes the command line over the environment over the file", () => {
    expect(new URL(node.origin).port).not.toBe("2");
    expect(node.stderr()).not.toContain("llama.cpp is loaded"); // an info line
  });

  test("ends at once when it is asked a second time, with exit code 130", async () => {
    const stream = await longStream(node.origin, 1900);
    node.process.kill("SIGINT");
    await waitFor("the stop", () => node.stderr().includes("Stopping"));
    node.process.kill("SIGINT");
    expect(await node.exit()).toBe(130);
    await stream.text().catch(() => {}); // cut off
  });
});

describe("paddock serve, each time anew", () => {
  test("goes on when who watched it start is gone", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), await tinyChatConfig());
    const port = await freePort();
    // The reader of both pipes is gone before the node begins to write.
    const gone = 'exec 3> >(:); wait $!; exec "$@" >&3 2>&3';
    const args = ["serve", "--port", String(port)];
    const node = Bun.spawn(["bash", "-c", gone, "-", ...programUnderTest, ...args], {
      cwd: folder.path,
      env: environmentIn(folder.path),
    });
    await waitFor("the node", async () => {
      expect(node.exitCode).toBeNull();
      const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
      return answer?.ok === true;
    });
    node.kill("SIGTERM");
    expect(await node.exited).toBe(0);
  });

  test("opens chat before the handbook is stored, says that it is coming, and stops at Ctrl-C", async () => {
    await using folder = await tempDir();
    await using far = heldEmbeddings();
    const { embedding } = await tinyModels();
    const config = (await tinyConfig())
      .replace("handbook = false", "score_threshold = -1")
      .replace(JSON.stringify(embedding), `"openai:${far.url}/v1"`);
    await writeFile(join(folder.path, "paddock.toml"), config);
    await using node = await servePaddock({ cwd: folder.path, untilComplete: false });
    const readiness = async () => {
      const response = await fetch(`${node.origin}/ready`);
      return { code: response.status, ...(await decode(Readiness, response)) };
    };
    await (await longStream(node.origin, 4)).text();
    await waitFor("the models", async () => (await readiness()).code === 200);
    expect(await readiness()).toEqual({
      code: 200,
      status: "ready",
      reasons: [expect.stringContaining("passages are still coming")],
    });
    const retrieve = () =>
      fetch(`${node.origin}/v1/retrieve`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          model: "tiny-embedding",
          messages: [{ role: "user", content: "How do I add an API key?" }],
        }),
      });
    const early = await retrieve();
    expect([early.status, early.headers.get("x-paddock-notice")]).toEqual([
      200,
      expect.stringContaining("passages are still coming"),
    ]);
    far.allow(Number.POSITIVE_INFINITY);
    const isComplete = async () => (await readiness()).reasons.length === 0;
    await waitFor("the handbook", isComplete);
    const late = await retrieve();
    expect(late.headers.get("x-paddock-notice")).toBeNull();
    expect((await decode(RetrieveResult, late)).points).toHaveLength(5);
    node.process.kill("SIGINT");
    expect(await node.exit()).toBe(0);
    expect(node.stderr()).toContain("Stopping");
  });

  test.each([
    [{ PADDOCK_PORT: "eighty" }, "environment variable PADDOCK_PORT: 'port' must be an integer"],
    [{ PADDOCK_PROT: "80" }, "Did you mean 'PADDOCK_PORT'?"],
    [{ PADDOCK_HOST: "0.0.0.0" }, "there is no API key"],
    [{ PADDOCK_CONFIG: "nowhere.toml" }, "nowhere.toml: the configuration file cannot be read"],
  ])("refuses to start with %j, in one message and with exit code 2", async (env, message) => {
    await using folder = await tempDir();
    const { code, stderr, stdout } = await runPaddock(["serve"], { cwd: folder.path, env });
    expect(code).toBe(2);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toContain(message);
    expect(stdout).toBe("");
  });

  test("says which model file is missing", async () => {
    await using folder = await tempDir();
    const model = '[[models]]\nname = "m"\ntype = "chat"\nsource = "./gone.gguf"\n';
    await writeFile(join(folder.path, "paddock.toml"), model);
    const args = ["serve", "--port", "0"];
    const { code, stderr } = await runPaddock(args, { cwd: folder.path });
    expect(code).toBe(1);
    expect(stderr).toContain("The model file './gone.gguf' does not exist.");
  });

  test("has help and a version", async () => {
    await using folder = await tempDir();
    const help = await runPaddock(["--help"], { cwd: folder.path });
    expect(help.code).toBe(0);
    expect(help.stdout).toContain("serve");
    expect(help.stdout).toContain("ingest");
    const version = await runPaddock(["--version"], { cwd: folder.path });
    expect(version.stdout).toMatch(
      testsExecutable
        ? /^\d+\.\d+\.\d+ \(commit \w+, llama\.cpp v[\d.]+\)\n$/
        : /^\d+\.\d+\.\d+ \(from source\)\n$/,
    );
    const unknown = await runPaddock(["sevre"], { cwd: folder.path });
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain("Did you mean serve?");
  });
});
