/** Documents of any size for the readers, ordinary ones and such as are made to be slow. */
import { epubOf } from "../../tests/support/epub-file.ts";
import { paragraph, pptxOf, row, shape, title, xlsxOf } from "../../tests/support/office-files.ts";
import { manyEntries, zipOf } from "../../tests/support/zip-file.ts";

interface MadeDocument {
  name: string;
  bytes: Uint8Array;
}

type Make = (count: number) => MadeDocument | Promise<MadeDocument>;

const text = (name: string, content: string): MadeDocument => ({
  name,
  bytes: new TextEncoder().encode(content),
});
const lines = (name: string, line: (at: number) => string, before = "", after = ""): Make => {
  return (count) =>
    text(name, `${before}${Array.from({ length: count }, (_, at) => line(at)).join("")}${after}`);
};
const head = "From: a@example.org\nTo: b@example.org\nSubject: S\n";
const mixed = `${head}Content-Type: multipart/mixed; boundary=a\n\n`;
const many = (count: number, piece: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => piece(at)).join("");

/** With the count at which a document is about as large as may be. */
export const made: Readonly<Record<string, { most: number; make: Make }>> = {
  "pptx: bullets": {
    most: 90_000,
    make: async (count) => ({
      name: "a.pptx",
      bytes: await pptxOf([
        {
          shapes:
            title("T") +
            shape(
              many(count, (at) => paragraph(`item ${at} ${at * 7}`)),
              "body",
            ),
        },
      ]),
    }),
  },
  "pptx: slides": {
    most: 5000,
    make: async (count) => ({
      name: "a.pptx",
      bytes: await pptxOf(
        Array.from({ length: count }, (_, at) => ({
          shapes: title(`Slide about ${at}`) + shape(paragraph(`text ${at}`), "body"),
          notes: shape(paragraph(`note ${at}`), "body"),
        })),
      ),
    }),
  },
  "xlsx: rows of 5 cells": {
    most: 250_000,
    make: async (count) => ({
      name: "a.xlsx",
      bytes: await xlsxOf([
        {
          name: "S",
          rows:
            row(1, "Name", "Age", "City", "Wool", "Note") +
            many(count, (at) => row(at + 2, `name ${at}`, at, `city ${at % 97}`, at / 7, "fine")),
        },
      ]),
    }),
  },
  "xlsx: empty cells": {
    most: 3_500_000,
    make: async (count) => ({
      name: "a.xlsx",
      bytes: await xlsxOf([
        {
          name: "S",
          rows: `<row>${many(count, (at) => `<c s="${(at * 7919) % 65_521}"/>`)}</row>`,
        },
      ]),
    }),
  },
  "xlsx: cells of one row": {
    most: 1_000_000,
    make: async (count) => ({
      name: "a.xlsx",
      bytes: await xlsxOf([
        { name: "S", rows: `<row r="1">${many(count, (at) => `<c><v>${at}</v></c>`)}</row>` },
      ]),
    }),
  },
  "xlsx: merged cells over all rows": {
    most: 100_000,
    make: async (count) => ({
      name: "a.xlsx",
      bytes: await xlsxOf([
        {
          name: "S",
          rows: many(count, (at) => `<row r="${at + 1}"><c r="A${at + 1}"><v>${at}</v></c></row>`),
          after: `<mergeCells>${many(count, (at) => `<mergeCell ref="A${at + 1}:A1048576"/>`)}</mergeCells>`,
        },
      ]),
    }),
  },
  "epub: paragraphs": {
    most: 240_000,
    make: async (count) => ({
      name: "a.epub",
      bytes: await epubOf({ pages: { "a.xhtml": many(count, (at) => `<p>text ${at}</p>`) } }),
    }),
  },
  "epub: pages": {
    most: 50_000,
    make: async (count) => ({
      name: "a.epub",
      bytes: await epubOf({
        pages: Object.fromEntries(
          Array.from({ length: count }, (_, at) => [`p${at}.xhtml`, `<p>${at}</p>`]),
        ),
      }),
    }),
  },
  "zip: entries": {
    most: 65_000,
    make: async (count) => ({
      name: "a.docx",
      bytes: manyEntries(await zipOf({ a: "a" }), count, (at) => `${at}`),
    }),
  },
  "eml: lines of text": {
    most: 3_900_000,
    make: lines("a.eml", (at) => `line ${at}\n`, `${head}\n`),
  },
  "eml: a file in base64": {
    most: 800_000,
    make: lines(
      "a.eml",
      () => `${"QUJD".repeat(19)}\n`,
      `${mixed}--a\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n\n`,
    ),
  },
  "eml: parts": { most: 99_000, make: lines("a.eml", () => "--a\n\nx\n", mixed) },
  "eml: messages": {
    most: 40_000,
    make: lines("a.eml", () => `--a\nContent-Type: message/rfc822\n\n${head}\nx\n`, mixed),
  },
  "eml: addresses": {
    most: 60_000,
    make: lines("a.eml", (at) => `Ann ${at} <a${at}@example.org>,\n `, `${head}Cc: `, "\n\nx"),
  },
  "code: functions": {
    most: 240_000,
    make: lines("a.ts", (at) =>
      `/** Doc. */\nexport function f${at}(a: string) {\n  return "}" + a;\n}\n`.repeat(1),
    ),
  },
  "code: methods of one class": {
    most: 480_000,
    make: lines("a.py", (at) => `    def m${at}(self):\n        return ${at}\n`, "class A:\n"),
  },
  "code: brackets never closed": { most: 900_000, make: lines("a.ts", () => "function a(\n") },
  "code: classes in classes": { most: 300_000, make: lines("a.java", (at) => `class A${at} {\n`) },
  "code: stairs": {
    most: 120_000,
    make: lines("a.py", (at) => `${" ".repeat(at % 1000)}def a():\n`),
  },
  "code: templates in templates": { most: 20_000_000, make: lines("a.js", () => "`${") },
  "code: one line of quotes": { most: 30_000_000, make: lines("a.js", () => `'"`) },
  "code: one line of slashes": { most: 15_000_000, make: lines("a.js", () => "(/[ ") },
  "code: spaces in a declaration": {
    most: 60_000_000,
    make: (count) => text("a.ts", `export function${" ".repeat(count)}a`),
  },
  "code: here documents": { most: 900_000, make: lines("a.rb", (at) => `a << B${at}\n`) },
  "code: tags of dollars": { most: 6_000_000, make: lines("a.sql", (at) => `$a${at}$ `) },
  "code: statements": {
    most: 900_000,
    make: lines("a.sql", (at) => `create function f${at}() as\n`),
  },
  "text: Windows-1252": {
    most: 5_000_000,
    make: (count) => ({
      name: "a.txt",
      bytes: new Uint8Array(Buffer.from("caf\xe9 au lait\n".repeat(count), "latin1")),
    }),
  },
};
