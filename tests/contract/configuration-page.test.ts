import { expect, test } from "bun:test";
import { configurationFile, configurationPage } from "../../scripts/configuration-docs.ts";
import { withParts } from "../../scripts/docs/marked-parts.ts";
import { modelKeys, nodeKeys } from "../../src/config/settings.ts";

test("docs/configuration.md has the tables that the schema makes (`bun run docs` writes them)", async () => {
  const page = await Bun.file(configurationFile).text();
  expect(configurationPage(page)).toBe(page);
});

test("every key says what it is for", () => {
  const silent = [...nodeKeys(), ...modelKeys()].filter(({ description }) => description === "");
  expect(silent.map(({ path }) => path.join("."))).toEqual([]);
});

test("a page's prose stays as it is around what is written into it", () => {
  const page = "# Page\n\n<!-- a -->\nold\n<!-- /a -->\n\nEnd.\n";
  expect(withParts(page, { a: "new" })).toBe(
    "# Page\n\n<!-- a -->\n\nnew\n\n<!-- /a -->\n\nEnd.\n",
  );
  expect(() => withParts(page, { b: "new" })).toThrow("The page has no marker <!-- b -->");
});
