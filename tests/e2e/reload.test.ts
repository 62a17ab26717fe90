import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import {
  type ConventionServer,
  frame,
  modelList,
  openAiServer,
  streamOf,
} from "../support/openai-server.ts";
import {
  runPaddock,
  type ServingPaddock,
  servePaddock,
  startPaddock,
} from "../support/paddock-process.ts";
import { openTerminal } from "../support/paddock-terminal.ts";
import { skipUnless } from "../support/skip-reason.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

let server: ConventionServer;
let folder: TempDir;
let node: ServingPaddock;
/** Until then the server does not end an answer to "at length". */
const mayEnd = Promise.withResolvers<void>();

/** A server with the model, so that nothing of a reload waits for one. */
const startServer = (): ConventionServer =>
  openAiServer(({ path, body }) => {
    if (path === "/v1/models") return modelList("far");
    if (path !== "/v1/chat/completions") return undefined;
    const answer = [frame("Yes.", "stop"), "data: [DONE]\n\n"];
    if (Object(body).messages?.at(-1)?.content !== "at length") return streamOf(answer);
    async function* held() {
      yield frame("Well ...");
      await mayEnd.promise;
      yield* answer;
    }
    return new Response(held, { headers: { "content-type": "text/event-stream" } });
  });

const config = (): string =>
  `[[models]]\nname = "far"\ntype = "chat"\nsource = "openai:${server.url}/v1"\nupstream_timeout = 3600\n`;

const serve = async (): Promise<void> => {
  await write("");
  node = await servePaddock({ cwd: folder.path }, ["--config", "paddock.toml"]);
};

beforeAll(async () => {
  server = startServer();
  folder = await tempDir();
  await serve();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Writes the configuration with some lines before all sections. */
const write = (lines: string): Promise<void> =>
  writeFile(join(folder.path, "paddock.toml"), `${lines}\n${config()}`);

/** Has the node run with the configuration that it was started with. */
async function reset(): Promise<void> {
  await write("");
  expect((await reload()).code).toBe(0);
}

const nodes = (): string => join(folder.path, ".paddock", "nodes");

const chat = (contents: readonly string[], more: object = {}): Promise<Response> =>
  fetch(`${node.origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "far",
      max_tokens: 4,
      messages: contents.map((content) => ({ role: "user", content })),
      ...more,
    }),
  });

const reload = (...more: string[]) => runPaddock(["reload", ...more], { cwd: folder.path });

const Reports = T.Array(
  T.Object({
    answered: T.Boolean(),
    changed: T.Array(T.String()),
    needs_restart: T.Array(T.String()),
    error: T.Union([T.String(), T.Null()]),
  }),
);

describe("paddock reload", () => {
  test("asks no node for a configuration that is wrong, and says which key is", async () => {
    await write('[limits]\nmax_messages = "many"');
    expect(await reload()).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "paddock.toml: 'limits.max_messages' must be an integer of at least 1; found 'many'.\n",
    });
    expect(node.stderr()).not.toContain("read again");
  });

  test("has limits and the log level in force, while an answer in progress goes on", async () => {
    await reset();
    const running = await chat(["at length"], { stream: true });
    await write('log_level = "error"\n[limits]\nmax_messages = 1');
    const { code, stdout } = await reload();
    expect(stdout).toContain(`The node at ${node.origin} (process ${node.process.pid})`);
    expect(stdout).toContain("In force now: log_level, limits.max_messages.");
    expect(code).toBe(0);
    const refused = await chat(["one", "two"]);
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining("limits.max_messages"),
    ]);
    expect((await chat(["one"])).status).toBe(200);
    mayEnd.resolve();
    expect(await running.text()).toContain("data: [DONE]");
    // What was asked after the reload is below the level.
    expect(node.stderr()).not.toContain(String(refused.headers.get("x-request-id")));
  });

  test("names what needs a restart, changes nothing of it, and ends with 1", async () => {
    await reset();
    await write('log_prompts = true\n[auth]\napi_keys = ["a-very-secret-key"]');
    const { code, stdout, stderr } = await reload();
    expect([code, stderr]).toEqual([1, "Not everything that changed is in force.\n"]);
    expect(stdout).toContain("Needs a restart, and is as it was: log_prompts, auth.api_keys.");
    expect(stdout + node.stderr()).not.toContain("a-very-secret-key");
    expect((await chat(["hi"])).status).toBe(200);
    const again = await reload("--json");
    expect(Value.Parse(Reports, JSON.parse(again.stdout))).toEqual([
      { answered: true, changed: [], needs_restart: ["log_prompts", "auth.api_keys"], error: null },
    ]);
  });

  test("tells what the node says against a file that only the node reads", async () => {
    await reset();
    await writeFile(join(folder.path, "own.toml"), config());
    await rm(join(folder.path, "paddock.toml"));
    const { code, stdout } = await reload("--config", "own.toml");
    expect(code).toBe(1);
    expect(stdout).toContain(
      "changed nothing: paddock.toml: the configuration file cannot be read",
    );
    expect(stdout).toContain(join(folder.path, "paddock.toml"));
    expect((await chat(["hi"])).status).toBe(200);
  });

  test("names a node of another host, and does not wait for it", async () => {
    await reset();
    const record = { id: "gone", pid: 1, processStart: "", host: "another", startedAt: "" };
    const text = JSON.stringify({ ...record, address: "http://10.0.0.9:8080", config: null });
    await writeFile(join(nodes(), "gone.json"), text);
    const { code, stdout, stderr } = await reload();
    await rm(join(nodes(), "gone.json"));
    expect([code, stdout]).toEqual([0, expect.stringContaining(`The node at ${node.origin}`)]);
    expect(stderr).toBe(
      `The node at http://10.0.0.9:8080 runs on 'another': run 'paddock reload' there. If it is gone, remove ${join(nodes(), "gone.json")}.\n`,
    );
  });
});

describe.skipIf(skipUnless(process.platform !== "win32", "Windows has no SIGHUP"))("SIGHUP", () => {
  test("has the configuration read again; one with an error changes nothing", async () => {
    await reset();
    await write("[limits]\nmax_messages = 1");
    node.process.kill("SIGHUP");
    await waitFor("the reload", () => node.stderr().includes('"changed":["limits.max_messages"]'));
    expect((await chat(["one", "two"])).status).toBe(400);
    await write("[limits]\nmax_messages = 5\nmax_mesages = 6");
    node.process.kill("SIGHUP");
    const error = "unknown key 'limits.max_mesages'";
    await waitFor("the refusal", () => node.stderr().includes(error));
    const line = node
      .stderr()
      .split("\n")
      .find((text) => text.includes(error));
    expect(line).toContain("nothing was changed");
    expect((await chat(["one", "two"])).status).toBe(400);
  });

  test("reloads a node that was still starting", async () => {
    await using own = await tempDir();
    const file = join(own.path, "paddock.toml");
    await writeFile(file, `auth.api_keys = ["sk-of-the-file"]\n${config()}`, { mode: 0o644 });
    await runPaddock(["keys", "create", "alice"], { cwd: own.path });
    using keys = new Database(join(own.path, ".paddock", "keys.sqlite"));
    // The node waits for whoever writes its keys.
    keys.run("pragma journal_mode = delete");
    keys.run("begin exclusive");
    await using starting = startPaddock(["serve", "--port", "0"], { cwd: own.path });
    await waitFor("the first line", () => starting.stderr().includes("holds secrets"));
    starting.process.kill("SIGHUP");
    keys.run("rollback");
    await starting.printed("listening on");
    await waitFor("the reload", () => starting.stderr().includes("was read again"));
  });

  test("reloads a node in a terminal, and ends it where the terminal was closed", async () => {
    await using own = await tempDir();
    const file = join(own.path, "paddock.toml");
    await writeFile(file, config());
    await using terminal = openTerminal(["serve", "--port", "0"], { cwd: own.path });
    await terminal.shows("listening on");
    await writeFile(file, `[limits]\nmax_messages = 1\n${config()}`);
    terminal.kill("SIGHUP");
    await terminal.shows("the configuration was read again");
    terminal.hangUp();
    await terminal.exit();
    expect(await readdir(join(own.path, ".paddock", "nodes"))).toEqual([]);
  });
});

// These end the node.
describe("a node that ended", () => {
  test("leaves nothing behind after a stop", async () => {
    node.process.kill("SIGTERM");
    await node.exit();
    expect(await readdir(nodes())).toEqual([]);
  });

  test("is found no more by a reload where it was killed, and forgotten", async () => {
    if (node.process.exitCode !== null) await serve();
    expect(await readdir(nodes())).toHaveLength(1);
    node.process.kill("SIGKILL");
    await node.exit();
    const { code, stderr } = await reload();
    expect([code, stderr]).toEqual([1, expect.stringContaining("No node runs with the data dir")]);
    expect(await readdir(nodes())).toEqual([]);
  });
});
