/** The lines of docs/clients.md are those that `bun run test:clients` runs, and its table is of those clients. */
import { expect, test } from "bun:test";
import { agentClients } from "../../scripts/clients/agents.ts";
import { commandClients } from "../../scripts/clients/commands.ts";
import { libraryClients } from "../../scripts/clients/libraries.ts";
import { pageFile } from "../../scripts/clients/page.ts";

const page = await Bun.file(pageFile).text();
const clients = [...agentClients, ...libraryClients, ...commandClients];

test.each(clients)("$name has a section with lines to copy", ({ name }) => {
  const [, section = ""] = page.split(`\n## ${name}\n`);
  const [own = ""] = section.split("\n## ");
  expect(own).toContain("```");
  expect(own).toContain("http://127.0.0.1:8080");
});

test.each(clients)("$name is in the table, at the version that is run", ({ name, packages }) => {
  const row = page.split("\n").find((line) => line.startsWith(`| ${name} |`));
  expect(row).toBeDefined();
  const version = packages[0]?.split("@").at(-1);
  expect(row).toContain(version ?? "the machine's");
  const cells = row?.split(" | ").slice(2) ?? [];
  const known = new Set(["yes", "–", "repeated for minutes"]);
  expect(cells.filter((cell) => !known.has(cell.replace(/ \|$/, "")))).toEqual([]);
});

test.each([
  ...["Cursor", "Continue", "VS Code", "Zed", "Open WebUI", "LibreChat", "n8n", "promptfoo"],
])("%s is named as not run", (name) => {
  const [, documented = ""] = page.split("\n## By their documentation\n");
  expect(documented).toContain(`**${name}**`);
});
