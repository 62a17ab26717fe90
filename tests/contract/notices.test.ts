import { expect, test } from "bun:test";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");
const text = (...path: string[]) => Bun.file(join(root, ...path)).text();
const remedy = "Run 'bun scripts/notices.ts'.";

test("the notice of llama.cpp is of the release that is installed", async () => {
  const installed = await text("node_modules/node-llama-cpp/llama/binariesGithubRelease.json");
  const [first] = (await text("src/packaging/notices/llama.cpp.txt")).split("\n");
  expect(first, remedy).toStartWith(`llama.cpp ${JSON.parse(installed).release},`);
});

test("the notice of Bun is what this version of it says", async () => {
  const page = await text("node_modules/bun-types/docs/project/license.mdx");
  expect(page, remedy).toContain((await text("src/packaging/notices/bun.md")).trim());
});
