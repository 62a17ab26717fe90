import { describe, expect, test } from "bun:test";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ChatCompletion } from "../../src/server/operations/chat/schema.ts";
import { decode } from "../support/decode.ts";
import { type ServingPaddock, servePaddock } from "../support/paddock-process.ts";
import { childrenOf } from "../support/process-tree.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyChatConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

const ask = async ({
  origin,
}: ServingPaddock): Promise<{ status: number; fingerprint: string }> => {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "tiny-chat",
      max_tokens: 8,
      messages: [{ role: "user", content: "hi" }],
    }),
  });
  if (response.status !== 200)
    return { status: response.status, fingerprint: await response.text() };
  const { system_fingerprint: fingerprint } = await decode(ChatCompletion, response);
  return { status: 200, fingerprint };
};

describe("a model whose weights are quantized in the background", () => {
  test("answers at once, and loads them later without a request being dropped", async () => {
    await using folder = await tempDir();
    const settings = 'ctx_size = 2048\nquantization = "q8_0"\ntranscode = "behind"';
    await writeFile(join(folder.path, "paddock.toml"), await tinyChatConfig(settings));
    const options = { cwd: folder.path, env: { PADDOCK_LOG_LEVEL: "info" } };
    await using node = await servePaddock(options);
    const said = (text: string) => () => node.stderr().includes(text);
    await waitFor("them to be made", said("weights are quantized in the background"));
    const answers = [await ask(node)];
    let isOver = false;
    const client = async (): Promise<void> => {
      while (!isOver) {
        const began = performance.now();
        answers.push(await ask(node));
        // Busy for half of the time at most, so that there are moments without a request, but no second of silence.
        await Bun.sleep(Math.min(Math.max(performance.now() - began, 50), 900));
      }
    };
    const clients = [client(), client()];
    await waitFor("the quantized weights", said("quantized weights from now on"));
    await waitFor(
      "an answer of them",
      () => new Set(answers.map((one) => one.fingerprint)).size > 1,
    );
    isOver = true;
    await Promise.all(clients);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    await waitFor("one process for the model", async () => {
      return (await childrenOf(node.process.pid)).length === 1;
    });
    const files = await readdir(join(folder.path, ".paddock", "models"));
    expect(files.some((name) => name.endsWith(".q8_0.gguf"))).toBe(true);

    const last = await ask(node);
    await node[Symbol.asyncDispose]();
    await using again = await servePaddock(options);
    expect(await ask(again)).toEqual(last);
    expect(again.stderr()).not.toContain("quantized in the background");
  });
});
