/** The examples of the handbook are run as they stand, against a node of the tests' own. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "bun";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

const root = join(import.meta.dir, "..", "..");
const page = await Bun.file(join(root, "docs", "api.md")).text();
const key = "a-key-of-the-examples";

let node: TinyNode;
beforeAll(async () => {
  node = await tinyNode({ env: { PADDOCK_API_KEYS: key } });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map(
    ([, code = ""]) => code,
  );

/** Only the address and the names of the models are the reader's own. */
const adapted = (code: string): string =>
  code
    .replaceAll("http://127.0.0.1:8080/v1", node.baseUrl)
    .replaceAll("TinyLlama-1.1B-Chat-v1.0", "tiny-chat")
    .replaceAll("all-MiniLM-L6-v2", "tiny-embedding");

async function run(command: string[]): Promise<string> {
  const child = spawn(command, {
    cwd: root,
    env: { ...process.env, PADDOCK_KEY: key },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(err);
  return out;
}

describe("an example of the page about the API", () => {
  const hasCurl = Bun.which("curl") !== null;
  if (!hasCurl) console.error("The examples in curl are skipped: curl is not installed.");
  test.skipIf(!hasCurl).each(blocks("sh").map((code) => [/\/v1\/\S+/.exec(code)?.[0] ?? "", code]))(
    "in curl works: %s",
    async (_, code) => {
      const answer = await run(["bash", "-c", adapted(code)]);
      expect(answer).toMatch(/^(data: )?\{"(id|object|points)"/);
    },
  );

  test.each(blocks("ts").map((code) => [/from "([^"]+)"/.exec(code)?.[1] ?? "", code]))(
    "in TypeScript works: %s",
    async (_, code) => {
      // Beside this file, so that it finds the packages.
      const path = join(import.meta.dir, `example-${crypto.randomUUID()}.ts`);
      await writeFile(path, adapted(code));
      try {
        expect(await run([process.execPath, path])).toContain("32 dimensions");
      } finally {
        await rm(path);
      }
    },
  );

  test("is there for curl, openai, the AI SDK and LangChain", () => {
    expect(blocks("sh")).toHaveLength(4);
    const packages = ['"openai"', '"ai"', '"@langchain/openai"'];
    expect(packages.filter((name) => !blocks("ts").some((code) => code.includes(name)))).toEqual(
      [],
    );
  });
});
