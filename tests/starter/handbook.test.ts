/** The handbook is the node's own default knowledge: what a newcomer asks finds the page that answers it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { decode } from "../support/decode.ts";
import { type ServingPaddock, servePaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";

const resources = new AsyncDisposableStack();
let node: ServingPaddock;

beforeAll(async () => {
  const folder = resources.use(await tempDir());
  const config = '[[models]]\nname = "e"\ntype = "embedding"\nsource = "starter:embedding"\n';
  await writeFile(join(folder.path, "paddock.toml"), config);
  node = resources.use(await servePaddock({ cwd: folder.path }));
});
afterAll(() => resources.disposeAsync());

const questions = [
  ["How do I add an API key?", "keys.md"],
  ["How do I stream an answer?", "api.md"],
  ["How do I use the node with LangChain?", "api.md"],
  ["How do I use the node with Claude Code?", "api.md"],
  ["How do I add my own documents?", "knowledge.md"],
  ["How do I run it with systemd?", "deploy.md"],
  ["How many threads should it use?", "tuning.md"],
  ["How do I download a model from Hugging Face?", "models.md"],
  ["It says that port 8080 is in use already. Why?", "troubleshooting.md"],
  ["Which metrics does the node have for Prometheus?", "operating.md"],
  ["What happens when a model's process crashes?", "reliability.md"],
  ["How do I report a security problem?", "security.md"],
  ["Where does the web page keep my conversations?", "page.md"],
  ["How do I get shell completions?", "command-line.md"],
  ["How do I run the node for the first time?", "getting-started.md"],
] as const;

describe("a newcomer's question", () => {
  test.each(questions)("finds its page first: %s", async (question, page) => {
    const response = await fetch(`${node.origin}/v1/retrieve`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "e",
        include_metadata: true,
        messages: [{ role: "user", content: question }],
      }),
    });
    const { points } = await decode(RetrieveResult, response);
    expect(points[0]?.metadata?.document).toBe(`paddock:handbook/${page}`);
  });
});
