/** Documents that are small and made to be slow: each took minutes, or filled the memory, before it was bounded. */
import { describe, expect, test } from "bun:test";
import { toBlocks } from "../../src/ingest/blocks.ts";
import { type Chunk, chunk } from "../../src/ingest/chunk.ts";
import { defaultLimits } from "../../src/ingest/readers/limits.ts";
import { readDocument } from "../../src/ingest/readers/read.ts";
import { rejectionOf } from "../support/rejection.ts";
import { wordFile } from "../support/word-file.ts";

/** Of this process alone, whatever else the machine does: far more than any takes now, far less than it took. */
const mostSeconds = 20;

const read = (name: string, text: string): Promise<readonly string[]> =>
  Promise.resolve(readDocument(name, new TextEncoder().encode(text)));

const cut = (text: string): Promise<Chunk[]> =>
  chunk([text], {
    maxTokens: 256,
    overlapTokens: 32,
    countTokens: async (pieces) => pieces.map(({ length }) => Math.ceil(length / 4)),
  });

async function quickly<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(mostSeconds);
  return result;
}

const sizeOf = (texts: readonly string[]): number =>
  texts.reduce((sum, { length }) => sum + length, 0);

describe("a hostile document", () => {
  test("may have any number of spaces in a heading", async () => {
    const line = `# a${" ".repeat(500_000)}b`;
    expect(await quickly(() => toBlocks(line))).toHaveLength(1);
  });

  test("may have a paragraph of any number of lines", async () => {
    const [block] = await quickly(() => toBlocks("a\n".repeat(300_000)));
    expect(block?.text).toHaveLength(599_999);
  });

  test.each([
    ["lists in lists on one line", "- ", 1],
    ["lists in lists on many lines", "- - - - - - - - - - a\n", 1],
    ["quotations in quotations", ">> a\nb\n> c\n", 1],
    ["tasks", "- [ ] a\n", 1],
    ["items of no text", "-\n", 1],
    ["items that begin fences", "- ```\n", 50_000],
    ["brackets", "[", 1],
    ["definitions of links", '[a]: b "c\n', 1],
    ["heads of tables", "|a|\n|-|\nx\n", 60_000],
    ["heads of tables with other columns", "x|y\n-|-|-\n", 1],
    ["indented lines", "    a\n", 1],
    ["comments that do not end", "<!--\n\n", 50_000],
    ["lines of spaces", "a\n    \n", 42_857],
  ])("may have any number of %s", async (_, unit, blocks) => {
    const text = unit.repeat(300_000 / unit.length);
    expect(await quickly(() => toBlocks(text).length)).toBe(blocks);
  });

  test("may have an item of any number of lines", async () => {
    const [block] = await quickly(() => toBlocks(`- a\n${"  b\n".repeat(100_000)}`));
    expect(block?.text).toHaveLength(400_003);
  });

  test("may have lists in lists of any depth", async () => {
    const lines = Array.from({ length: 700 }, (_, depth) => `${" ".repeat(2 * depth)}- a`);
    expect(await quickly(() => toBlocks(lines.join("\n")))).toHaveLength(1);
  });

  test("may have a table of many columns and many rows with none of them", async () => {
    const table = `${"|a".repeat(50_000)}\n${"|-".repeat(50_000)}\n${"|\n".repeat(50_000)}`;
    expect(await quickly(() => toBlocks(table))).toMatchObject([{ kind: "table" }]);
  });

  test("may have a fence of any length above a page", async () => {
    const page = `---\ntitle: a\n---\n${"`".repeat(300_000)}\n${"a\n".repeat(300_000)}`;
    expect(await quickly(() => read("a.md", page))).toEqual([expect.stringMatching(/^# a\n/)]);
  });

  test("may have any number of spaces between elements without text", async () => {
    const page = `<p>${"<code></code> ".repeat(300_000)}end`;
    expect(await quickly(() => read("a.html", page))).toEqual(["end"]);
  });

  test("may have any number of spaces in a quotation", async () => {
    const page = `<blockquote><pre>${" ".repeat(500_000)}x</pre></blockquote>`;
    expect(await quickly(() => read("a.html", page))).toHaveLength(1);
  });

  test.each(["<blockquote>", "<ul><li>"])("indents %s to a bounded depth", async (tags) => {
    const page = `${tags.repeat(95)}${"a<br>".repeat(20_000)}`;
    const texts = await quickly(() => read("a.html", page));
    expect(sizeOf(texts)).toBeLessThan(1_000_000);
  });

  test("may have any number of blocks in a block of code", async () => {
    const line = `<div>${"a".repeat(400)}</div>`;
    const [text = ""] = await quickly(() => read("a.html", `<pre>${line.repeat(100_000)}</pre>`));
    expect(text).toHaveLength("```\n".length + 401 * 100_000 + "```".length);
  });

  test("may have forms in forms around all of its text", async () => {
    const page = `${"<form>".repeat(190)}${"<p>a</p>".repeat(400_000)}`;
    const [text = ""] = await quickly(() => read("a.html", page));
    expect(text).toHaveLength("a\n\n".length * 400_000 - 2);
  });

  test("may say that its cells span everything", async () => {
    const wide = `<tr>${"<td colspan=20>a".repeat(2000)}`;
    const page = `<table>${wide}${"<tr><td>b".repeat(20_000)}</table>`;
    expect(sizeOf(await quickly(() => read("a.html", page)))).toBeLessThan(2_000_000);
    const tall = `<tr>${`<td rowspan=200>${"x".repeat(500)}`.repeat(400)}${"<tr>".repeat(200)}`;
    const texts = await quickly(() => read("a.html", `<table>${tall}</table>`));
    expect(sizeOf(texts)).toBeLessThan(2_000_000);
  });

  test("may have many columns and many rows with none of them", async () => {
    const table = `text${",a".repeat(50_000)}\n${"a\n".repeat(50_000)}`;
    expect(await quickly(() => read("a.csv", table))).toHaveLength(50_000);
  });

  test("has not all of its columns named in a message", async () => {
    const names = Array.from({ length: 100_000 }, (_, at) => `"k${at}":"x"`);
    const refusal = await rejectionOf(read("a.jsonl", `{${names.join(",")}}`));
    expect(String(refusal)).toContain("'k19' and 99980 more");
  });

  test("repeats a long heading in no passage", async () => {
    const long = `# ${"a ".repeat(100_000)}\n\n${"b\n\n".repeat(1000)}`;
    const levels = [1, 2, 3, 4, 5, 6].map((level) => `${"#".repeat(level)} ${"a".repeat(990)}`);
    const many = `${levels.join("\n\n")}\n\n${"b\n\n".repeat(100_000)}`;
    for (const text of [long, many]) {
      const chunks = await quickly(() => cut(text));
      expect(sizeOf(chunks.map(({ source }) => source))).toBeLessThan(4 * text.length);
    }
  });

  test("may be cut into any number of passages", async () => {
    const chunks = await quickly(() => cut("# a\n".repeat(150_000)));
    expect(chunks).toHaveLength(150_000);
  });

  test("may be a Word file of a million spaces", async () => {
    const bytes = await wordFile(`<w:p><w:r><w:t>${" ".repeat(1_000_000)}</w:t></w:r></w:p>`);
    const limits = { ...defaultLimits, max_unpack_ratio: 1_000_000 };
    expect(await quickly(() => readDocument("a.docx", bytes, { limits }))).toEqual([]);
  });
});
