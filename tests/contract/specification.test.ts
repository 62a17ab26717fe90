import { expect, test } from "bun:test";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");
const reference = /`(tests\/[^`]+)`: "(.+)" \|$/;

const rows = (await Bun.file(join(root, "docs/reference/specification.md")).text())
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| Statement"));

test.each(rows)("names a test that exists: %s", async (row) => {
  const [, file, name] = reference.exec(row) ?? [];
  if (file === undefined || name === undefined) throw new Error("The row names no test");
  const text = await Bun.file(join(root, file)).text();
  expect(text).toContain(`"${name}"`);
});

test("has a row for each statement", () => {
  expect(rows.length).toBeGreaterThan(40);
});
