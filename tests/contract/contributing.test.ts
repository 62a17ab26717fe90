import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };

const root = join(import.meta.dir, "..", "..");
const text = await Bun.file(join(root, "CONTRIBUTING.md")).text();

const paths = [...text.matchAll(/`((?:src|tests|docs|scripts|deploy|\.ci)\/[a-z0-9./-]*)`/g)];
test.each([...new Set(paths.map(([, path = ""]) => path))])("names what is there: %s", (path) => {
  expect(existsSync(join(root, path))).toBe(true);
});

const commands = [...text.matchAll(/\bbun(?:@[\d.]+)? run ([a-z:]+)/g)];
test.each([...new Set(commands.map(([, name = ""]) => name))])("names a script: %s", (name) => {
  expect(Object.keys(manifest.scripts)).toContain(name);
});

test("names every suite", () => {
  const suites = [...new Bun.Glob("tests/*/**/*.test.ts").scanSync(root)].map(
    (file) => file.split(/[\\/]/)[1],
  );
  for (const suite of new Set(suites)) expect(text).toContain(`| \`tests/${suite}\` |`);
});

test("every suite is run by the test script", () => {
  for (const [, suite = ""] of text.matchAll(/^\| `tests\/([a-z0-9]+)` \|/gm)) {
    expect(manifest.scripts.test.split(" ")).toContain(`tests/${suite}`);
  }
});
