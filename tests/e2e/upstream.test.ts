import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { frontConfig } from "../support/front-node.ts";
import { imageBytes, imageUrl } from "../support/images.ts";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { childrenOf } from "../support/process-tree.ts";
import { recordedVllm, vllmModel } from "../support/recorded-vllm.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

const key = "a-key-of-the-upstream";
const env = { UPSTREAM_KEY: key };

let upstream: TinyNode;

beforeAll(async () => {
  upstream = await tinyNode({ env: { PADDOCK_API_KEYS: key } });
});
afterAll(() => upstream[Symbol.asyncDispose]());

/** A folder whose configuration names models of the upstream. */
async function frontFolder(change = (config: string) => config): Promise<TempDir> {
  const own = await tempDir();
  const config = frontConfig(upstream.baseUrl);
  await writeFile(join(own.path, "paddock.toml"), change(config));
  return own;
}

interface Report {
  ok: boolean;
  findings: { check: string; status: string; message: string; remedy?: string }[];
}

async function examine(cwd: string, variables: Record<string, string> = env) {
  const run = await runPaddock(["doctor", "--json", "--port", "0"], { cwd, env: variables });
  expect(run.stdout).not.toContain(key);
  const report: Report = JSON.parse(run.stdout);
  return report.findings.filter(({ check }) => check.startsWith("model ") || check === "engine");
}

describe("a node whose models all run elsewhere", () => {
  test("starts no process and loads no llama.cpp, and clients see no difference", async () => {
    await using own = await frontFolder();
    await using node = await servePaddock({ cwd: own.path, env });
    const client = new OpenAI({ baseURL: `${node.origin}/v1`, apiKey: "any" });
    const answer = await client.chat.completions.create({
      model: "tiny-chat",
      messages: [{ role: "user", content: "Hello" }],
      max_tokens: 5,
    });
    expect(answer.usage).toMatchObject({ prompt_tokens: 30 });
    const { data } = await client.embeddings.create({ model: "tiny-embedding", input: "hello" });
    expect(data[0]?.embedding).toHaveLength(32);
    expect(await childrenOf(node.process.pid)).toEqual([]);
    const mapped = await readFile(`/proc/${node.process.pid}/maps`, "utf8").catch(() => "");
    expect(mapped).not.toContain("libllama");
    expect(node.stderr()).not.toContain(key);
    expect(node.stderr()).not.toContain("processes of their own");
  });

  test("shows images to a model there that reads them, sent or uploaded", async () => {
    await using server = recordedVllm({ vision: true });
    await using own = await tempDir();
    const model = `name = "far"\ntype = "chat"\nsource = "openai:${server.url}/v1"`;
    const config = `[[models]]\n${model}\nupstream_model = "${vllmModel}"\n`;
    await writeFile(join(own.path, "paddock.toml"), config);
    await using node = await servePaddock({ cwd: own.path });
    const client = new OpenAI({ baseURL: `${node.origin}/v1`, apiKey: "any" });
    const { choices } = await client.chat.completions.create({
      model: "far",
      messages: [
        { role: "user", content: [{ type: "image_url", image_url: { url: imageUrl() } }] },
      ],
    });
    expect(choices[0]?.message.content).toBe("user: (image/png, 40 bytes)");
    const bytes = imageBytes("image/jpeg", 70_000);
    const file = await toFile(bytes, "llama.jpg", { type: "image/jpeg" });
    const { id } = await client.files.create({ file, purpose: "vision" });
    const image = { type: "input_image", file_id: id, detail: "high" } as const;
    const response = await client.responses.create({
      model: "far",
      input: [{ role: "user", content: [image, { type: "input_text", text: "What is it?" }] }],
    });
    expect(response.output_text).toBe("user: (image/jpeg, 70000 bytes, high)What is it?");
  });

  test("can have its collection filled by the model there", async () => {
    await using own = await frontFolder();
    await writeFile(join(own.path, "a.md"), "# A\n\nApples are red.\n");
    const { code, stderr } = await runPaddock(["ingest", "a.md"], { cwd: own.path, env });
    expect([code, stderr]).toEqual([0, expect.stringContaining("1")]);
    const listed = await runPaddock(["collections", "list"], { cwd: own.path, env });
    expect(listed.stdout).toContain("default");
  });

  test("has its servers asked by doctor, one by one", async () => {
    await using own = await frontFolder((config) =>
      config.replace("api_key_env", 'replicas = ["http://127.0.0.1:1/v1"]\napi_key_env'),
    );
    const url = upstream.baseUrl;
    expect(await examine(own.path)).toEqual([
      {
        check: "model tiny-chat",
        status: "ok",
        message: expect.stringMatching(
          new RegExp(
            `^${url}: Paddock \\d.* has 'tiny-chat', with 2048 tokens; they are estimated\\.$`,
          ),
        ),
      },
      {
        check: "model tiny-chat",
        status: "problem",
        message:
          "http://127.0.0.1:1/v1: The server of the model 'tiny-chat' cannot be reached: the connection is refused.",
        remedy: expect.any(String),
      },
      {
        check: "model tiny-embedding",
        status: "ok",
        message: expect.stringContaining("with 64 tokens"),
      },
    ]);
  });

  test.each([
    ["a wrong key", { UPSTREAM_KEY: "wrong-key" }, /does not accept this node's key/],
    ["no key", {}, /^The environment variable UPSTREAM_KEY is not set/],
  ])("has doctor say that there is %s", async (_, variables, message) => {
    await using own = await frontFolder();
    for (const finding of await examine(own.path, variables)) {
      expect(finding).toMatchObject({ status: "problem", message: expect.stringMatching(message) });
    }
  });

  test("has doctor say that the server has no such model", async () => {
    await using own = await frontFolder((config) => config.replaceAll('"tiny-chat"', '"big-chat"'));
    expect((await examine(own.path))[0]).toMatchObject({
      check: "model big-chat",
      status: "problem",
      message: expect.stringContaining(
        "does not know a model 'big-chat'; it has 'tiny-chat', 'tiny-embedding'",
      ),
    });
  });

  test("has them listed, and nothing of them fetched or removed", async () => {
    await using own = await frontFolder();
    const run = (...args: string[]) => runPaddock(args, { cwd: own.path, env });
    const { stdout } = await run("models");
    expect(stdout).toMatch(new RegExp(`tiny-chat +chat +upstream: ${upstream.baseUrl}`));
    const { models } = JSON.parse((await run("models", "--json")).stdout);
    expect(models[0]).toMatchObject({
      name: "tiny-chat",
      upstream: { urls: [upstream.baseUrl], model: "tiny-chat" },
    });
    expect((await run("models", "rm", "tiny-chat")).stderr).toContain("upstream model");
    expect((await run("pull", `openai:${upstream.baseUrl}`)).stderr).toContain("is not fetched");
  });

  test("does not start without the key that its configuration names", async () => {
    await using own = await frontFolder();
    const { code, stderr } = await runPaddock(["serve", "--port", "0"], { cwd: own.path });
    expect([code, stderr]).toEqual([2, expect.stringContaining("UPSTREAM_KEY is not set")]);
  });
});
