import { expect, test } from "bun:test";
import { operationsFile, operationsPage } from "../../scripts/operations-docs.ts";

test("docs/api.md has the table that the declarations make (`bun run docs` writes it)", async () => {
  const page = await Bun.file(operationsFile).text();
  expect(operationsPage(page)).toBe(page);
});
