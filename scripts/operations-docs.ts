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
      ["Operations", "Addresses", "Scope of the key"],
      rowsOf(operations.map(({ facts }) => facts)),
    ),
  });

/** One row for the operations of a subject and scope, each address with its methods. */
function rowsOf(all: readonly OperationFacts[]): string[][] {
  const alike = Map.groupBy(all, (facts) => `${facts.tag} ${scopeOf(facts)}`);
  return [...alike.values()].map((some) => {
    const [first] = some;
    if (first === undefined) throw new Error("A row of nothing");
    const byPath = Map.groupBy(some, ({ path }) => path.replace(/:(\w+)/g, "{$1}"));
    const addresses = [...byPath].map(
      ([path, those]) => `\`${those.map(({ method }) => method).join(" ")} ${path}\``,
    );
    return [first.tag, addresses.join(", "), scopeOf(first)];
  });
}

function scopeOf({ scope, key = "none" }: OperationFacts): string {
  if (scope !== undefined) return `\`${scope}\``;
  if (key === "required") return "any key";
  return key === "optional" ? "none; a key tells more" : "none";
}

if (import.meta.main) {
  await Bun.write(operationsFile, operationsPage(await Bun.file(operationsFile).text()));
  console.log(`Wrote ${operationsFile}`);
}
