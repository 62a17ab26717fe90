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

test("has the two walks", () => {
  expect(page).toContain("\n## A streaming chat\n");
  expect(page).toContain("\n## An upload\n");
  expect(named.length).toBeGreaterThan(60);
});
