/** docs/architecture.md names files that there are. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");
const page = await Bun.file(join(root, "docs", "architecture.md")).text();

const named = [...page.matchAll(/`([a-z-]+\/[a-z0-9/-]+\.tsx?)`/g)].map(([, path = ""]) => path);

test.each([...new Set(named)])("names what is there: %s", (path) => {
  const places =
    path.startsWith("scripts/") || path.startsWith("tests/") ? [root] : [join(root, "src")];
  expect(places.some((place) => existsSync(join(place, path)))).toBe(true);
});

test.each([
  ["A streaming chat", "An upload"],
  ["An upload", "A request"],
])("counts the files of its walk: %s", (walk, next) => {
  const section = page.slice(page.indexOf(`\n## ${walk}\n`), page.indexOf(`\n## ${next}\n`));
  const files = [...section.matchAll(/`([a-z-]+\/[a-z0-9/-]+\.ts)`/g)].map(([, path]) => path);
  expect(files.length).toBeGreaterThan(30);
  expect(section).toContain(` passes ${new Set(files).size} files in this order `);
  expect(new Set(files).size).toBe(files.length);
});
