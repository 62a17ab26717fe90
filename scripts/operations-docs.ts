/** Writes the table of operations into docs/api.md from their declarations. */
import { join } from "node:path";
import type { OperationFacts } from "../src/server/operation.ts";
import { operations } from "../src/server/operations.ts";
import { toMarkdownTable } from "./docs/markdown-table.ts";
import { withParts } from "./docs/marked-parts.ts";

export const operationsFile = join(import.meta.dir, "..", "docs", "api.md");

/** The page with a fresh table. */
export const operationsPage = (page: string): string =>
  withParts(page, {
    operations: toMarkdownTable(
      ["Operation", "Address", "Key, where the node wants one"],
      rowsOf(operations.map(({ facts }) => facts)),
    ),
  });

/** One row for each address; where two methods ask and answer the same, the first describes both. */
function rowsOf(all: readonly OperationFacts[]): string[][] {
  const alike = Map.groupBy(all, ({ path, body, form, answer }) =>
    [path, (body ?? form)?.name, answer.name].join(" "),
  );
  return [...alike.values()].map(([first, ...others]) => {
    if (first === undefined) throw new Error("A row of nothing");
    const { path } = first;
    const methods = [first, ...others].map(({ method }) => method).join(" or ");
    return [first.summary, `\`${methods} ${path.replace(/:(\w+)/g, "{$1}")}\``, keyOf(first)];
  });
}

function keyOf({ scope, key = "none" }: OperationFacts): string {
  if (scope !== undefined) return `one that opens \`${scope}\``;
  if (key === "required") return "any";
  return key === "optional" ? "not needed; with one it tells more" : "not needed";
}

if (import.meta.main) {
  await Bun.write(operationsFile, operationsPage(await Bun.file(operationsFile).text()));
  console.log(`Wrote ${operationsFile}`);
}
