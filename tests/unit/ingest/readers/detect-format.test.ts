import { describe, expect, test } from "bun:test";
import { detectFormat } from "../../../../src/ingest/readers/detect-format.ts";
import { formatMediaType } from "../../../../src/ingest/readers/formats.ts";
import { readDocument } from "../../../../src/ingest/readers/read.ts";
import { docxOf, pdfOf } from "../../../support/documents.ts";
import { epubOf } from "../../../support/epub-file.ts";
import { office, pptxOf, row, shape, xlsxOf } from "../../../support/office-files.ts";
import { withField, zipOf } from "../../../support/zip-file.ts";

const latin = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"));
const mail = latin("From: a@example.org\nSubject: S\n\nText.");
const reasonOf = (bytes: Uint8Array, name: string): string => {
  try {
    return detectFormat(bytes, name);
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
};

const detected = (bytes: Uint8Array, name: string): { format: string; mediaType: string } => {
  const format = detectFormat(bytes, name);
  return { format, mediaType: formatMediaType(format, name) };
};

const types = (type: string) => ({
  "[Content_Types].xml": `<Types><Override PartName="/x.xml" ContentType="${type}"/></Types>`,
});

describe("a file's format", () => {
  test.each([
    ["pdf", "application/pdf", () => pdfOf(["x"])],
    ["docx", `${office}.wordprocessingml.document`, () => docxOf(["x"])],
    ["pptx", `${office}.presentationml.presentation`, () => pptxOf([{ shapes: shape("") }])],
    ["xlsx", `${office}.spreadsheetml.sheet`, () => xlsxOf([{ name: "A", rows: row(1, "x") }])],
    ["epub", "application/epub+zip", () => epubOf({ pages: { "a.xhtml": "x" } })],
  ])("%s is told by what is inside, whatever its name", async (format, mediaType, make) => {
    const bytes = await make();
    for (const name of [`a.${format}`, "a.md", "a.zip", "A.EXE", "a.docx", "a", "../../a.txt"]) {
      expect(detected(bytes, name)).toEqual({ format, mediaType });
    }
  });

  test.each([
    ["a.docm", "docx", "application/vnd.ms-word.document.macroEnabled.main+xml"],
    ["a.dotx", "docx", `${office}.wordprocessingml.template.main+xml`],
    ["a.pptm", "pptx", "application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml"],
    ["a.ppsx", "pptx", `${office}.presentationml.slideshow.main+xml`],
    ["a.xlsm", "xlsx", "application/vnd.ms-excel.sheet.macroEnabled.main+xml"],
  ])("of %s is %s, by the type of its first part", async (name, format, type) => {
    expect(detected(await zipOf(types(type)), name)).toMatchObject({ format });
  });

  test.each([
    ["a.md", "markdown", "text/markdown"],
    ["a.TXT", "text", "text/plain"],
    ["a.html", "html", "text/html"],
    ["a.csv", "csv", "text/csv"],
    ["a.jsonl", "jsonl", "application/jsonl"],
    ["a.eml", "eml", "message/rfc822"],
    ["a.py", "code", "text/x-python"],
    ["a.tsx", "code", "text/x-tsx"],
  ])("that is text is what the name %s says: %s", (name, format, mediaType) => {
    const found = detected(latin("text"), name);
    expect([found.format, found.mediaType]).toEqual([format, mediaType]);
  });

  test.each([
    ["html", "\n<!DOCTYPE html>\n<p>x"],
    ["html", '<?xml version="1.0"?><html xmlns="x">'],
    ["eml", "Received: by a\n\tfor b\nX-Y: 1\nFrom: a@example.org\n\nx"],
  ])("is %s by its beginning where the name says nothing", (format, text) => {
    expect(detected(latin(text), "download")).toMatchObject({ format });
  });

  test("does not change with the text of a page", () => {
    expect(detectFormat(latin("%PDF-1.7 is what a PDF begins with."), "a.md")).toBe("markdown");
    expect(detectFormat(latin("PK\x03 GIF89a MZ BM ID3"), "a.txt")).toBe("text");
    expect(detectFormat(latin("BMW, MZ and GIF89a"), "a.txt")).toBe("text");
    expect(detectFormat(mail, "a.txt")).toBe("text");
  });
});

describe("what is no document is refused by its name, with what to do", () => {
  const program = `MZ\x90\0\x03${"\0".repeat(60)}PE\0\0`;
  const ocr =
    "and text in pictures is not read; run it through OCR first, and add the text or the PDF.";
  const unpack = "and archives are not read; unpack it, and add the files that are in it.";
  test.each([
    ["readme.md", program, "is a program for Windows, and programs are not read."],
    ["a.txt", "\x7fELF\x02\x01\x01\0\0", "is a program for Linux, and programs are not read."],
    ["a.md", "\x89PNG\r\n\x1a\n\0\0", `is a PNG image, ${ocr}`],
    ["scan.pdf", "\xff\xd8\xff\xe0\0\x10JFIF\0", `is a JPEG image, ${ocr}`],
    ["scan", "II*\0\x08\0\0\0", `is a TIFF image, ${ocr}`],
    ["a.jpg", "\0\0\0\x18ftypheic\0", `is a HEIC image, ${ocr}`],
    ["drawing.svg", "<svg/>", `is an image, ${ocr}`],
    ["photo.jpeg", "", `is an image, ${ocr}`],
    ["a.gz", "\x1f\x8b\x08\0\0", `is a gzip archive, ${unpack}`],
    ["a.docx", "7z\xbc\xaf\x27\x1c\0\x04", `is a 7-Zip archive, ${unpack}`],
    ["a.csv", "Rar!\x1a\x07\x01\0", `is a RAR archive, ${unpack}`],
    ["notes.tar", `${"a\0".repeat(128)}\0ustar\x0000`, `is a tar archive, ${unpack}`],
    ["a.zip", "", `is an archive, ${unpack}`],
    [
      "talk.mp3",
      "ID3\x03\0\0\0",
      "is an MP3 recording, and recordings are not read; have it written",
    ],
    ["talk.mp4", "", "is a recording, and recordings are not read"],
    ["a.txt", "SQLite format 3\0\x10\0", "is an SQLite database, and holds no text that is read."],
    ["a.txt", "{\\rtf1\\ansi x}", "is rich text (RTF), which is not read; save it as .docx"],
    ["a.odt", "", "is an old or another office format, which is not read; save it as .docx, .xlsx"],
    ["a.msg", "", "is an Outlook file, which is not read; save the message as .eml."],
    ["a.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is in an old Office format (.doc, .xls, .ppt)"],
    ["a.xlsx", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xlsx"],
    ["a.xyz", "text", "Paddock does not read '.xyz' files; it reads .md, "],
  ])("%s that begins with %j", (name, text, reason) => {
    expect(reasonOf(latin(text), name)).toStartWith(reason);
  });

  test("archives of anything, books in other formats, and what is damaged", async () => {
    const plain = await zipOf({ "a.md": "# A", "inner.zip": await zipOf({ "b.md": "# B" }) });
    const document = { mimetype: "application/vnd.oasis.opendocument.text", "content.xml": "" };
    const binary = types("application/vnd.ms-excel.sheet.binary.macroEnabled.main");
    const cases: [string, Uint8Array][] = [
      [`is an archive (zip), ${unpack}`, plain],
      [`is an archive (zip), ${unpack}`, latin(`PK\x05\x06${"\0".repeat(18)}`)],
      ["is an OpenDocument file, which is not read; save it as .docx", await zipOf(document)],
      ["is a binary Excel workbook (.xlsb), which is not read", await zipOf(binary)],
      ["is a damaged archive (zip).", plain.slice(0, 40)],
    ];
    for (const [reason, bytes] of cases) expect(reasonOf(bytes, "a.md")).toStartWith(reason);
    expect(reasonOf(plain, "a.docx")).toStartWith("is an archive (zip)");
    expect(reasonOf(plain.slice(0, 40), "a.docx")).toBe("docx");
  });

  test("a bomb in place of the list of its parts", async () => {
    const bytes = await zipOf({ "[Content_Types].xml": "<a/>".repeat(4_000_000) });
    expect(reasonOf(bytes, "a.md")).toBe("is a damaged archive (zip).");
    const encrypted = withField(await zipOf(types("x")), "flags", 1);
    expect(reasonOf(encrypted, "a.md")).toBe("is a damaged archive (zip).");
  });

  test("an Excel file in the old container by its reader, which knows what to do", async () => {
    const error = await readDocument("a.xlsx", latin("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")).catch(
      String,
    );
    expect(error).toContain(
      "is encrypted or in the old .xls format; save it as .xlsx without a password.",
    );
  });
});
