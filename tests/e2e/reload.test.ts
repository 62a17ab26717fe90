import { describe, expect, test } from "bun:test";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { runPaddock, type ServingPaddock, servePaddock } from "../support/paddock-process.ts";
import { openTerminal } from "../support/paddock-terminal.ts";
import { skipUnless } from "../support/skip-reason.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { tinyConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

const tiny = await tinyConfig();

async function tinyFolder(): Promise<TempDir> {
  const folder = await tempDir();
  await write(folder, "");
  return folder;
}

/** Writes the configuration with some lines before all sections. */
const write = (folder: TempDir, lines: string): Promise<void> =>
  writeFile(join(folder.path, "paddock.toml"), `${lines}\n${tiny}`);

const chat = (
  { origin }: ServingPaddock,
  contents: readonly string[],
  more: object = {},
): Promise<Response> =>
  fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "tiny-chat",
      max_tokens: 4,
      logit_bias: { "2": -100 },
      messages: contents.map((content) => ({ role: "user", content })),
      ...more,
    }),
  });

const reload = (folder: TempDir, ...args: string[]) =>
  runPaddock(["reload", ...args], { cwd: folder.path });

const Reports = T.Array(
  T.Object({
    answered: T.Boolean(),
    changed: T.Array(T.String()),
    needs_restart: T.Array(T.String()),
    error: T.Union([T.String(), T.Null()]),
  }),
);

describe("paddock reload", () => {
  test("has limits and the log level in force, while an answer in progress goes on", async () => {
    await using folder = await tinyFolder();
    // Nobody reads for a while, however long that is here.
    await using node = await servePaddock({ cwd: folder.path }, ["--stall-timeout", "3600"]);
    // More than the node and sockets hold: it is not over before somebody reads it.
    const long = { stream: true, max_tokens: 1900, logprobs: true, top_logprobs: 20, n: 3 };
    const running = await chat(node, ["hi"], long);
    await write(folder, 'log_level = "error"\n[limits]\nmax_messages = 1');
    const { code, stdout } = await reload(folder);
    expect(stdout).toContain(`The node at ${node.origin} (process ${node.process.pid})`);
    expect(stdout).toContain("In force now: log_level, limits.max_messages.");
    expect(code).toBe(0);
    const refused = await chat(node, ["one", "two"]);
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining("limits.max_messages"),
    ]);
    expect((await chat(node, ["one"])).status).toBe(200);
    expect(await running.text()).toContain("data: [DONE]");
    // What was asked after the reload is below the level.
    expect(node.stderr()).not.toContain('"status":400');
  });

  test("names what needs a restart, changes nothing of it, and ends with 1", async () => {
    await using folder = await tinyFolder();
    await using node = await servePaddock({ cwd: folder.path });
    await write(folder, 'log_prompts = true\n[auth]\napi_keys = ["a-very-secret-key"]');
    const { code, stdout, stderr } = await reload(folder);
    expect([code, stderr]).toEqual([1, "Not everything that changed is in force.\n"]);
    expect(stdout).toContain("Needs a restart, and is as it was: log_prompts, auth.api_keys.");
    expect(stdout + node.stderr()).not.toContain("a-very-secret-key");
    expect((await chat(node, ["hi"])).status).toBe(200);
    const again = await reload(folder, "--json");
    expect(Value.Parse(Reports, JSON.parse(again.stdout))).toEqual([
      { answered: true, changed: [], needs_restart: ["log_prompts", "auth.api_keys"], error: null },
    ]);
  });

  test("asks no node for a configuration that is wrong, and says which key is", async () => {
    await using folder = await tinyFolder();
    await using node = await servePaddock({ cwd: folder.path });
    await write(folder, '[limits]\nmax_messages = "many"');
    expect(await reload(folder)).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "paddock.toml: 'limits.max_messages' must be an integer of at least 1; found 'many'.\n",
    });
    expect(node.stderr()).not.toContain("read again");
  });

  test("tells what the node says against a file that only the node reads", async () => {
    await using folder = await tinyFolder();
    await using node = await servePaddock({ cwd: folder.path }, ["--config", "paddock.toml"]);
    await writeFile(join(folder.path, "own.toml"), tiny);
    await rm(join(folder.path, "paddock.toml"));
    const { code, stdout } = await reload(folder, "--config", "own.toml");
    expect(code).toBe(1);
    expect(stdout).toContain(
      "changed nothing: paddock.toml: the configuration file cannot be read",
    );
    expect(stdout).toContain(join(folder.path, "paddock.toml"));
    expect((await chat(node, ["hi"])).status).toBe(200);
  });

  test("finds no node where one was killed, and forgets it", async () => {
    await using folder = await tinyFolder();
    await using node = await servePaddock({ cwd: folder.path });
    const nodes = join(folder.path, ".paddock", "nodes");
    expect(await readdir(nodes)).toHaveLength(1);
    node.process.kill("SIGKILL");
    await node.exit();
    const { code, stderr } = await reload(folder);
    expect([code, stderr]).toEqual([1, expect.stringContaining("No node runs with the data dir")]);
    expect(await readdir(nodes)).toEqual([]);
  });

  test("names a node of another host, and does not wait for it", async () => {
    await using folder = await tinyFolder();
    await using node = await servePaddock({ cwd: folder.path });
    const nodes = join(folder.path, ".paddock", "nodes");
    const record = { id: "gone", pid: 1, processStart: "", host: "another", startedAt: "" };
    const text = JSON.stringify({ ...record, address: "http://10.0.0.9:8080", config: null });
    await writeFile(join(nodes, "gone.json"), text);
    const { code, stdout, stderr } = await reload(folder);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`The node at ${node.origin}`)]);
    expect(stderr).toBe(
      `The node at http://10.0.0.9:8080 runs on 'another': run 'paddock reload' there. If it is gone, remove ${join(nodes, "gone.json")}.\n`,
    );
  });

  test("leaves nothing behind after a stop", async () => {
    await using folder = await tinyFolder();
    await using node = await servePaddock({ cwd: folder.path });
    node.process.kill("SIGTERM");
    await node.exit();
    expect(await readdir(join(folder.path, ".paddock", "nodes"))).toEqual([]);
  });
});

describe.skipIf(skipUnless(process.platform !== "win32", "Windows has no SIGHUP"))("SIGHUP", () => {
  test("has the configuration read again; one with an error changes nothing", async () => {
    await using folder = await tinyFolder();
    await using node = await servePaddock({ cwd: folder.path });
    await write(folder, "[limits]\nmax_messages = 1");
    node.process.kill("SIGHUP");
    await waitFor("the reload", () => node.stderr().includes('"changed":["limits.max_messages"]'));
    expect((await chat(node, ["one", "two"])).status).toBe(400);
    await write(folder, "[limits]\nmax_messages = 5\nmax_mesages = 6");
    node.process.kill("SIGHUP");
    await waitFor("the refusal", () => node.stderr().includes("nothing was changed"));
    expect(node.stderr()).toContain("unknown key 'limits.max_mesages'");
    expect((await chat(node, ["one", "two"])).status).toBe(400);
  });

  test("reloads a node in a terminal, and ends it where the terminal was closed", async () => {
    await using folder = await tinyFolder();
    await using node = openTerminal(["serve", "--port", "0"], { cwd: folder.path });
    await node.shows("listening on");
    await write(folder, "[limits]\nmax_messages = 1");
    node.kill("SIGHUP");
    await node.shows("the configuration was read again");
    node.hangUp();
    await node.exit();
    expect(await readdir(join(folder.path, ".paddock", "nodes"))).toEqual([]);
  });
});
