import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyConfig } from "../support/tiny-node.ts";

describe("paddock keys", () => {
  test("gives out keys that a running node heeds at once, and takes them back", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), await tinyConfig());
    const keys = (...args: string[]) => runPaddock(["keys", ...args], { cwd: folder.path });
    await using node = await servePaddock({ cwd: folder.path });
    const messages = [{ role: "user", content: "hi" }];
    const ask = async (path: string, body: object, key?: string): Promise<[number, unknown]> => {
      const response = await fetch(`${node.origin}/v1${path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        },
        body: JSON.stringify(body),
      });
      const answer = (await response.json()) as { error?: { code: string } };
      return [response.status, answer.error?.code];
    };
    const chat = { model: "tiny-chat", max_tokens: 1, messages };
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
      /^ID +NAME +SCOPES +CREATED +EXPIRES +STATE\n[0-9a-f]{12} +ada +chat .* valid\n$/,
    );
    expect(listed.stdout).not.toContain(key.slice(16));
    expect((await keys("revoke", "ada")).stdout).toContain("Revoked the key 'ada'");
    expect(await ask("/chat/completions", chat, key)).toEqual([401, "invalid_api_key"]);
    const json = JSON.parse((await keys("list", "--json")).stdout);
    expect(json).toMatchObject([{ name: "ada", scopes: ["chat"], state: "revoked" }]);
  });

  test("lets a node serve others once a key was given out", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), await tinyConfig());
    const args = ["serve", "--port", "0", "--host", "0.0.0.0"];
    const refused = await runPaddock(args, { cwd: folder.path });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("no API key")]);
    await runPaddock(["keys", "create", "ada"], { cwd: folder.path });
    await using node = await servePaddock({ cwd: folder.path }, ["--host", "0.0.0.0"]);
    expect((await fetch(`http://127.0.0.1:${new URL(node.origin).port}/health`)).status).toBe(200);
  });

  test.each([
    [["create", "a", "--scope", "everything"], 2, "Allowed choices are chat, embeddings, retrieve"],
    [["create", "a", "--expires", "soon"], 1, "'soon' is no time"],
    [["create", "../up"], 1, "cannot be a key's name"],
    [["revoke", "nobody"], 1, "There is no key 'nobody'"],
  ])("refuses %j in a sentence", async (args, code, message) => {
    await using folder = await tempDir();
    const result = await runPaddock(["keys", ...args], { cwd: folder.path });
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});
