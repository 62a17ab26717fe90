import { describe, expect, test } from "bun:test";
import { type ReadText, readDocument } from "../../../../../src/ingest/readers/read.ts";
import { rejectionOf } from "../../../../support/rejection.ts";

const read = (text: string, name = "page.md"): Promise<ReadText> =>
  readDocument(name, new TextEncoder().encode(text));

const latin = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"));

const utf16 = (text: string, isBig: boolean): Uint8Array => {
  const view = new DataView(new ArrayBuffer(2 * text.length));
  [...text].forEach((character, index) => {
    view.setUint16(2 * index, character.charCodeAt(0), !isBig);
  });
  return new Uint8Array(view.buffer);
};

describe("a text", () => {
  test("is read as it is", async () => {
    const text = "# Llamas\r\n\r\nThey *hum*.\n\n    code\n";
    expect(await read(text)).toEqual([text]);
  });

  test("with nothing in it gives no text", async () => {
    expect(await Promise.all([read(""), read(" \n\t\n", "a.txt")])).toEqual([[], []]);
  });

  test("loses its byte order mark, in UTF-8 and in UTF-16", async () => {
    const texts = [
      new TextEncoder().encode("\ufeffLlämas"),
      utf16("\ufeffLlämas", false),
      utf16("\ufeffLlämas", true),
    ].map((bytes) => readDocument("a.txt", bytes));
    expect(await Promise.all(texts)).toEqual([["Llämas"], ["Llämas"], ["Llämas"]]);
  });

  test.each([
    ["Cyrillic of one byte a letter", latin("\xcb\xe0\xec\xfb \xe3\xf3\xe4\xff\xf2")],
    ["Japanese of two bytes a letter", latin("\x83\x89\x83}\x82\xcd")],
    ["bytes that no western text has", latin("Ll\xe4mas \x81 hum and hum")],
    ["letters among control characters", latin("Ll\xe4mas \x02 hum and hum")],
    ["UTF-8 that is damaged", latin("Ll\xc3\xa4mas h\xc3\xb6r \xe4 and hum")],
    ["UTF-8 that is cut off", Uint8Array.of(0x4c, 0xc3)],
    ["UTF-16 that is cut off", Uint8Array.of(0xff, 0xfe, 0x4c)],
  ])("in %s is refused", async (_, bytes) => {
    expect(await rejectionOf(readDocument("a.txt", bytes))).toMatchObject({
      kind: "invalid_request",
      message: "is not UTF-8 text; save it as UTF-8.",
    });
  });

  test("in Latin-1 or Windows-1252 is read as such", async () => {
    const texts = [
      "L\xe4ma",
      "Fran\xe7ois pays 5 \x80 \x96 caf\xe9",
      "\xbbSpa\xdf\xab and M\xfche here",
    ];
    expect(await Promise.all(texts.map((text) => readDocument("a.txt", latin(text))))).toEqual([
      ["Läma"],
      ["François pays 5 € – café"],
      ["»Spaß« and Mühe here"],
    ]);
  });

  test("with a NUL byte is refused, since it is none", async () => {
    expect(await rejectionOf(read("PK\u0000\u0001", "a.txt"))).toMatchObject({
      kind: "invalid_request",
      message: "is not UTF-8 text.",
    });
  });
});

describe("front matter", () => {
  test("goes, and its title becomes the heading that the page does not have", async () => {
    const page =
      '---\r\ntitle: "Llamas: a guide"\r\ntags: [a, b]\r\n---\r\n\r\n## Food\r\n\r\nHay.\r\n';
    expect(await read(page)).toEqual(["# Llamas: a guide\n\n\r\n## Food\r\n\r\nHay.\r\n"]);
  });

  test.each([
    ["in this way", "# Llamas\n\nThey hum.\n"],
    ["underlined", "Llamas\n===\n\nThey hum.\n"],
  ])("goes with its title where the page has a heading %s", async (_, page) => {
    expect(await read(`---\ntitle: Other\n---\n${page}`)).toEqual([page]);
  });

  test("is not outdone by a comment in code that looks like a heading", async () => {
    const page = "```sh\n# install\n```\n";
    expect(await read(`---\ntitle: Llamas\n---\n${page}`)).toEqual([`# Llamas\n\n${page}`]);
  });

  test.each([
    ["without a title", "---\nauthor: Ann\n---\nText\n"],
    ["that is empty", "---\n---\nText\n"],
    ["with a title that is no text", "---\ntitle: [1, 2]\n---\nText\n"],
    ["that is not YAML", "---\ntitle: a: b: [\n---\nText\n"],
    ["under comments", "---\n# a comment\n\nlayout: page\n...\nText\n"],
  ])("%s goes without a trace", async (_, page) => {
    expect(await read(page)).toEqual(["Text\n"]);
  });

  test.each([
    ["A rule", "---\n\nNot yet.\n\n---\n\nText\n"],
    ["One without an end", "---\ntitle: Llamas\n\nText\n"],
    ["One further down", "Text\n\n---\ntitle: Llamas\n---\n"],
  ])("%s is text", async (_, page) => {
    expect(await read(page)).toEqual([page]);
  });

  test("is text where the file is not Markdown", async () => {
    const text = "---\ntitle: Llamas\n---\nText\n";
    expect(await read(text, "a.txt")).toEqual([text]);
  });
});
