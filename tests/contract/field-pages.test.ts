import { expect, test } from "bun:test";
import { fieldFile, fieldFiles, fieldPage, fieldsOf } from "../../scripts/field-docs.ts";
import { operations } from "../../src/server/operations.ts";

test.each(fieldFiles)(
  "docs/reference/%s has the tables that the schemas make (`bun run docs` writes them)",
  async (name) => {
    const page = await Bun.file(fieldFile(name)).text();
    expect(fieldPage(name, page)).toBe(page);
  },
);

test("every field says what it is for", () => {
  const silent = operations
    .filter(({ facts: { body, form, query } }) => (body ?? form ?? query) !== undefined)
    .flatMap(({ facts: { operationId } }) =>
      fieldsOf(operationId)
        .filter(({ isTag, text }) => !isTag && text === "")
        .map(({ path }) => `${operationId}: ${path}`),
    );
  expect(silent).toEqual([]);
});
