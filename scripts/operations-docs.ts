/** Writes the table of operations into README.md and docs/api.md from their declarations. */
import { join } from "node:path";
import type { OperationFacts } from "../src/server/operation.ts";
import { operations } from "../src/server/operations.ts";
import { toMarkdownTable } from "./docs/markdown-table.ts";
import { withParts } from "./docs/marked-parts.ts";

export const operationsFiles = ["README.md", "docs/api.md"].map((path) =>
  join(import.meta.dir, "..", path),
);

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
  for (const file of operationsFiles) {
    await Bun.write(file, operationsPage(await Bun.file(file).text()));
    console.log(`Wrote ${file}`);
  }
}
