import { expect, test } from "bun:test";
import { operationsFiles, operationsPage } from "../../scripts/operations-docs.ts";

test.each(operationsFiles)(
  "%s has the table that the declarations make (`bun run docs` writes it)",
  async (file) => {
    const page = await Bun.file(file).text();
    expect(operationsPage(page)).toBe(page);
  },
);
