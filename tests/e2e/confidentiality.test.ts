import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ConfiguredNode, configuredNode } from "../support/configured-node.ts";
import { runnerOf } from "../support/process-tree.ts";
import { skipUnless } from "../support/skip-reason.ts";
import { tinyConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

const secret = "hunter2hunter2";
const secrets = {
  PADDOCK_API_KEYS: "right-key",
  PADDOCK_VECTORSTORE_API_KEY: `${secret}-store`,
  PADDOCK_SHARED_PASSWORD: `${secret}-redis`,
  HF_TOKEN: `${secret}-token`,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=${secret}`,
  SOMETHING_ELSE: secret,
};

const start = async (logPrompts: boolean): Promise<ConfiguredNode> =>
  await configuredNode(`log_prompts = ${logPrompts}\nlog_level = "debug"\n${await tinyConfig()}`, {
    env: { ...secrets, GGML_NO_BACKTRACE: "1" },
  });

let quiet: ConfiguredNode;
beforeAll(async () => {
  quiet = await start(false);
});
afterAll(() => quiet[Symbol.asyncDispose]());

async function ask(
  node: ConfiguredNode,
  path: string,
  body: string,
  key = "right-key",
): Promise<void> {
  const response = await fetch(`${node.origin}/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body,
  });
  const text = await response.text();
  expect(text).not.toContain(join(import.meta.dir, "..", ".."));
}

const chat = (more = "") =>
  `{"model":"tiny-chat","max_tokens":2,"messages":[{"role":"user","content":"${secret}"}]${more}}`;

describe("the log of a running node", () => {
  test.each([false, true])("has prompts only where that is wanted: %p", async (wanted) => {
    await using started = wanted ? await start(true) : undefined;
    const node = started ?? quiet;
    await ask(node, "/chat/completions", chat());
    await ask(node, "/chat/completions", chat(',"stream":true'));
    await ask(node, "/chat/completions", chat(`,"response_format":{"type":"${secret}"}`));
    await ask(node, "/chat/completions", chat(), `${secret}-key`);
    await ask(node, "/chat/completions", `{"model": ${secret}`);
    await ask(node, "/embeddings", `{"model":"tiny-embedding","input":"${secret}"}`);
    await ask(node, "/retrieve", chat().replace("tiny-chat", "tiny-embedding"));
    await waitFor("the last request's line", () => node.stderr().includes("/v1/retrieve"));
    expect(node.stderr().includes(secret)).toBe(wanted);
    expect(node.stderr()).not.toContain(`${secret}-`); // the wrong key, and the node's own
    expect(node.stderr()).not.toContain("right-key");
    const info = await (await fetch(`${node.origin}/v1/info`)).text();
    expect(info).not.toContain(node.cwd);
    expect(info).not.toContain(".gguf");
  });
});

describe("the process of a model", () => {
  test.skipIf(
    skipUnless(process.platform === "linux", "only Linux shows a process's variables in /proc"),
  )("is given what the engine needs, and no key or token of the node", async () => {
    const { pid } = quiet.process;
    for (const model of ["tiny-chat", "tiny-embedding"]) {
      const runner = await runnerOf(pid, model);
      const given = (await readFile(`/proc/${runner}/environ`, "utf8")).split("\0");
      expect(given.filter((line) => line.includes(secret) || line.includes("right"))).toEqual([]);
      expect(given).toContain("GGML_NO_BACKTRACE=1");
      expect(given).toContain(`HOME=${quiet.cwd}`);
    }
  });
});
