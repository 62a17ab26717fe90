/** The examples of the handbook are run as they stand, against a node of the tests' own. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "bun";
import { loadConfig } from "../../src/config/load.ts";
import { installed } from "../support/installed-program.ts";
import {
  listeningNode,
  type TinyNode,
  tinyConfig,
  tinyRerankerSection,
} from "../support/tiny-node.ts";

const root = join(import.meta.dir, "..", "..");
const read = (name: string): Promise<string> => Bun.file(join(root, "docs", name)).text();
const page = await read("api.md");
const key = "a-key-of-the-examples";

let node: TinyNode;
beforeAll(async () => {
  const config = (await tinyConfig()) + (await tinyRerankerSection());
  node = await listeningNode(config, { PADDOCK_API_KEYS: key });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

const blocks = (language: string, text = page): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map(
    ([, code = ""]) => code,
  );

/** Only the address and the names of the models are the reader's own. */
const adapted = (code: string): string =>
  code
    .replaceAll("http://127.0.0.1:8080", new URL(node.baseUrl).origin)
    .replaceAll("TinyLlama-1.1B-Chat-v1.0", "tiny-chat")
    .replaceAll("all-MiniLM-L6-v2", "tiny-embedding")
    .replaceAll("bge-reranker", "tiny-reranker");

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

const hasCurl = installed("curl") !== undefined;

/** Beside this file, so that it finds the packages. */
async function runTypeScript(code: string): Promise<string> {
  const path = join(import.meta.dir, `example-${crypto.randomUUID()}.ts`);
  await writeFile(path, code);
  try {
    return await run([process.execPath, path]);
  } finally {
    await rm(path);
  }
}

/** What an example prints, by a word of it. */
const printed = {
  dimensions: /32 dimensions/,
  inputItems: /^It was (completed|incomplete), asked with 1 item, and is deleted\.\n$/,
};

describe("an example of the page about the API", () => {
  test.skipIf(!hasCurl).each(blocks("sh").map((code) => [/\/v1\/\S+/.exec(code)?.[0] ?? "", code]))(
    "in curl works: %s",
    async (_, code) => {
      const answer = await run(["bash", "-c", adapted(code)]);
      expect(answer).toMatch(/^(data: )?\{"(id|object|points|input_tokens|count|prompt)"/);
    },
  );

  test.each(blocks("ts").map((code) => [/from "([^"]+)"/.exec(code)?.[1] ?? "", code]))(
    "in TypeScript works: %s",
    async (_, code) => {
      const out = await runTypeScript(adapted(code));
      const wanted = Object.entries(printed).find(([word]) => code.includes(word))?.[1];
      expect(out).toMatch(wanted ?? /^\d+ tokens\n/);
    },
  );

  test("is there for curl, openai, the AI SDK, LangChain and Anthropic's package", () => {
    expect(blocks("sh")).toHaveLength(12);
    const packages = ['"openai"', '"ai"', '"@langchain/openai"', '"@anthropic-ai/sdk"'];
    expect(packages.filter((name) => !blocks("ts").some((code) => code.includes(name)))).toEqual(
      [],
    );
  });
});

describe("an example of the first page", () => {
  test("in curl and in TypeScript works", async () => {
    const first = await read("getting-started.md");
    const [curl = ""] = blocks("sh", first).filter((code) => code.startsWith("curl"));
    const [code = ""] = blocks("ts", first);
    const asHolder = curl.replace("curl ", `curl -H 'Authorization: Bearer ${key}' `);
    if (hasCurl) expect(await run(["bash", "-c", adapted(asHolder)])).toContain('"choices"');
    await runTypeScript(adapted(code).replace('"unused"', JSON.stringify(key)));
  });
});

describe("an example of the page about documents", () => {
  test("goes from nothing to an answer with its source", async () => {
    const [code = ""] = blocks("ts", await read("documents.md"));
    const out = await runTypeScript(adapted(code));
    expect(out).toMatch(/^house\.md \d\.\d\d Boiler\n\nThe pressure of the boiler/);
    const { points } = JSON.parse(out.trim().split("\n").at(-1) ?? "");
    expect(points).toMatchObject([
      { metadata: { document: "house.md", heading: "Boiler", position: 0 } },
    ]);
    expect(points[0].metadata.file_id).toMatch(/^file-[0-9a-f]{24}$/);
  });

  test("goes to the same passage over MCP", async () => {
    const [, code = ""] = blocks("ts", await read("documents.md"));
    const { passages } = JSON.parse(await runTypeScript(adapted(code)));
    expect(passages).toMatchObject([{ document: "house.md", heading: "Boiler", position: 0 }]);
  });
});

describe("an example of the page about responses", () => {
  test.skipIf(!hasCurl)("in curl works", async () => {
    const examples = blocks("sh", await read("responses.md"));
    expect(examples).toHaveLength(2);
    for (const code of examples) {
      expect(await run(["bash", "-c", adapted(code)])).toContain('"object":"response"');
    }
  });

  test("in TypeScript works", async () => {
    const examples = blocks("ts", await read("responses.md"));
    const [following = "", agent = ""] = examples.filter((code) => !code.includes(kept));
    expect(await runTypeScript(adapted(following))).toMatch(
      /[1-9]\d* of \d+ tokens were cached\n$/,
    );
    expect(agent).toContain("@openai/agents");
    expect(await runTypeScript(adapted(agent))).toMatch(/^It is the (llama|horse|bee)\.\n$/);
  });

  const kept = "conversations.create";
  test("of a conversation that the node keeps works", async () => {
    const examples = blocks("ts", await read("responses.md"));
    const [code = ""] = examples.filter((one) => one.includes(kept));
    expect(await runTypeScript(adapted(code))).toMatch(/^4 items\n$/);
  });
});

describe("an example of a configuration", () => {
  // The pages about MCP and clients have those of other programs, which other tests read and run.
  const pages = [...new Bun.Glob("*.md").scanSync(join(root, "docs"))].filter(
    (name) => name !== "mcp.md" && name !== "clients.md",
  );
  test.each(pages.sort())("can be used: %s", async (name) => {
    for (const text of blocks("toml", await read(name))) {
      loadConfig({ file: { path: name, text }, env: {}, flags: {} });
    }
  });
});
