/** What docs/mcp.md has people write into their editors is what the program takes. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";

const docs = join(import.meta.dir, "..", "..", "docs");
const page = await Bun.file(join(docs, "mcp.md")).text();
const commands = await Bun.file(join(docs, "command-line.md")).text();

/** The snippets of a language. */
const snippets = (language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "gs"))].map(
    ([, text = ""]) => text,
  );

interface Entry {
  command?: string;
  args?: string[];
  url?: string;
}

/** Servers under whatever name the editor has for their list. */
const serversIn = (settings: object): Entry[] =>
  Object.entries(settings)
    .filter(([name]) => /servers/i.test(name))
    .flatMap(([, servers]) => Object.values(servers));

const entries = [
  ...snippets("json").flatMap((text) => serversIn(JSON.parse(text))),
  ...snippets("toml").flatMap((text) => serversIn(parseToml(text))),
  ...snippets("yaml").flatMap((text) => serversIn(Object(Bun.YAML.parse(text)))),
];

describe("docs/mcp.md", () => {
  test("has settings of editors that can be parsed", () => {
    expect(entries.length).toBeGreaterThanOrEqual(10);
  });

  test.each(entries)("names this program, or an address of it: %j", ({ command, args, url }) => {
    if (url !== undefined) {
      expect(new URL(url).pathname).toBe("/mcp");
      return;
    }
    expect([command, args?.[0]]).toEqual(["paddock", "mcp"]);
    const options = args?.filter((argument) => argument.startsWith("--")) ?? [];
    const known = ["--url", "--data-dir"];
    expect(options.filter((option) => !known.includes(option))).toEqual([]);
  });

  test("names commands that there are", () => {
    const lines = snippets("sh").join("");
    // A checkout has `bun paddock`; what another program starts is on its PATH.
    expect(lines.match(/^paddock .*$/gm)).toBeNull();
    for (const [, name = ""] of lines.matchAll(/paddock (ingest|mcp|keys create)\b/g)) {
      expect(commands).toContain(`### \`paddock ${name}`);
    }
  });
});
