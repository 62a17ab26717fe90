/** Presentations, workbooks, books, e-mails and archives that are broken, huge or made to harm. */
import { describe, expect, test } from "bun:test";
import { defaultLimits, isUnreadable } from "../../src/ingest/readers/limits.ts";
import { readDocument } from "../../src/ingest/readers/read.ts";
import { docxOf } from "../support/documents.ts";
import { epubOf } from "../support/epub-file.ts";
import {
  paragraph,
  pptxOf,
  relations,
  row,
  shape,
  title,
  xlsxOf,
} from "../support/office-files.ts";
import { rejectionOf } from "../support/rejection.ts";
import { wordFile } from "../support/word-file.ts";
import { withWrongChecksum, zipOf } from "../support/zip-file.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const head = "From: a@example.org\nTo: b@example.org\nSubject: S\n";

/** Numbers that no compression makes small, so that what is tried is the limit that is named. */
const noise = { "media/noise.bin": crypto.getRandomValues(new Uint8Array(1_000_000)) };

/** A small file of each format, with the part that holds its text. */
const files: Readonly<
  Record<string, { part: string; make: (text: string) => Promise<Uint8Array> }>
> = {
  "a.docx": {
    part: "word/document.xml",
    make: (text) => wordFile(`<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`),
  },
  "a.pptx": {
    part: "ppt/slides/slide1.xml",
    make: (text) =>
      pptxOf([
        { shapes: title("T") + shape(paragraph(text)), notes: shape(paragraph("n"), "body") },
      ]),
  },
  "a.xlsx": {
    part: "xl/worksheets/sheet1.xml",
    make: (text) => xlsxOf([{ name: "S", rows: row(1, "a", "b") + row(2, text, 1) }]),
  },
  "a.epub": {
    part: "OEBPS/a.xhtml",
    make: (text) => epubOf({ pages: { "a.xhtml": `<p>${text}</p>` } }),
  },
};
const formats = Object.entries(files).map(([name, file]) => ({ name, ...file }));

/** The texts, or why there are none; any other error than a refusal is a fault. */
async function outcome(name: string, bytes: Uint8Array): Promise<string> {
  try {
    return (await readDocument(name, bytes)).join("\n");
  } catch (error) {
    if (isUnreadable(error)) return error.message;
    throw error;
  }
}

const refusal = async (name: string, bytes: Uint8Array): Promise<string> =>
  String(await rejectionOf(readDocument(name, bytes)));

describe("a file that is broken", () => {
  test.each(formats)("wherever it is cut off: $name", async ({ name, make }) => {
    const whole = await make("Llamas hum.");
    expect(await outcome(name, whole)).toContain("Llamas hum.");
    for (let length = 0; length < whole.length; length += 1 + Math.floor(whole.length / 100)) {
      const said = await outcome(name, whole.slice(0, length));
      expect(said).toMatch(/^is damaged|does not read/);
    }
  });

  test.each(formats)("in whatever byte: $name", async ({ name, make }) => {
    const whole = await make("Llamas hum.");
    for (let at = 0; at < whole.length; at += 1 + Math.floor(whole.length / 150)) {
      const bytes = whole.slice();
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      await outcome(name, bytes);
    }
  });

  test.each(formats)("in its checksum: $name", async ({ name, part, make }) => {
    const bytes = withWrongChecksum(await make("Llamas hum."), part);
    expect(await refusal(name, bytes)).toContain("is damaged");
  });

  test("in XML: any part of a presentation or a workbook that is not well-formed", async () => {
    const broken = { more: { "_rels/.rels": "<Relationships><Relationship" } };
    const slides = [{ shapes: title("T") }];
    for (const xml of ["", "<a>", "</a>", "<a b=c/>", "<a>&x;</a>", "\0", "\xff\xfe"]) {
      const more = { "ppt/slides/slide1.xml": xml };
      expect(await refusal("a.pptx", await pptxOf(slides, { more }))).toContain("is damaged");
    }
    expect(await refusal("a.pptx", await pptxOf(slides, broken))).toContain("is damaged");
    expect(await refusal("a.xlsx", await xlsxOf([], broken))).toContain("is damaged");
  });

  test("an e-mail wherever it is cut off", async () => {
    const mail = `${head}Content-Type: multipart/mixed; boundary="a"\n\n--a\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n<p>Llam=C3=A4s</p>\n--a\nContent-Type: message/rfc822\n\n${head}\ninner\n--a--\n`;
    expect(await outcome("a.eml", bytesOf(mail))).toContain("Llamäs");
    for (let length = 0; length < mail.length; length += 1) {
      await outcome("a.eml", bytesOf(mail.slice(0, length)));
    }
  });
});

describe("a file that is made to grow", () => {
  test.each(formats)("is refused before it is unpacked: $name", async ({ name, make }) => {
    const bytes = await make("a".repeat(8_000_000));
    expect(bytes.length).toBeLessThan(50_000);
    expect(await refusal(name, bytes)).toContain("raise ingest.max_unpack_ratio");
  });

  test.each(formats)("by entities that repeat each other: $name", async ({ name, part, make }) => {
    const entities = Array.from(
      { length: 9 },
      (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`,
    ).join("");
    const doctype = `<!DOCTYPE a [<!ENTITY l0 "haha"><!ENTITY file SYSTEM "file:///etc/passwd">${entities}]>`;
    const xml = `<?xml version="1.0"?>${doctype}<a><p>&l9;&file;</p></a>`;
    const zip = await withPart(await make("x"), part, xml);
    const said = await outcome(name, zip);
    expect(said.length).toBeLessThan(1000);
    expect(said).not.toMatch(/haha|root:/);
  });

  test("by archives in archives", async () => {
    let bytes = await zipOf({ "a.txt": "a".repeat(1_000_000) });
    for (let depth = 0; depth < 5; depth += 1) {
      bytes = await zipOf(Object.fromEntries([0, 1, 2].map((at) => [`${at}.zip`, bytes])));
    }
    expect(await refusal("a.zip", bytes)).toContain(
      "is an archive (zip), and archives are not read",
    );
    const holding = await pptxOf([{ shapes: title("T") }], {
      more: { "ppt/embeddings/a.zip": bytes },
    });
    expect(await outcome("a.pptx", holding)).toBe("# T");
  });

  test("by cells that repeat one long text", async () => {
    const strings = `<si><t>${"a b".repeat(100_000)}</t></si>`;
    const cells = '<row><c t="s"><v>0</v></c></row>'.repeat(100_000);
    const long = await xlsxOf([{ name: "S", rows: cells }], {
      strings,
      more: { "xl/media/noise.bin": crypto.getRandomValues(new Uint8Array(65_536)) },
    });
    expect(await refusal("a.xlsx", long)).toContain("raise ingest.max_text_length");
  });

  test("by a slide that is shown again and again", async () => {
    const slides = [{ shapes: title("T") + shape(paragraph("text ".repeat(40_000))) }];
    const bytes = await pptxOf(slides, { order: Array.from({ length: 1000 }, () => 0) });
    expect(await refusal("a.pptx", bytes)).toContain("raise ingest.max_unpack_ratio");
  });

  test("by a page that is read again and again", async () => {
    const spine = Array.from({ length: 10_000 }, () => "a.xhtml");
    const text = await outcome(
      "a.epub",
      await epubOf({ pages: { "a.xhtml": "<p>one</p>" }, spine, more: noise }),
    );
    expect(text).toBe("# Llamas\n\none");
  });
});

describe("a file of more than is taken", () => {
  test("slides", async () => {
    const listed = (count: number): Promise<Uint8Array> =>
      pptxOf([{ shapes: title("T") }], {
        order: Array.from({ length: count }, () => 0),
        more: noise,
      });
    expect(await refusal("a.pptx", await listed(5001))).toContain("raise ingest.max_pages");
    expect(await refusal("a.pptx", await listed(520_000))).toContain("raise ingest.max_elements");
  });

  test("sheets", async () => {
    const sheets = "<sheet name='a' r:id='s1'/>".repeat(10_000);
    const more = {
      ...noise,
      "xl/workbook.xml": `<workbook xmlns:r="r"><sheets>${sheets}</sheets></workbook>`,
    };
    const bytes = await xlsxOf([{ name: "S", rows: "" }], { more });
    expect(await refusal("a.xlsx", bytes)).toContain("raise ingest.max_pages");
  });

  test("rows", async () => {
    const rows = "<row><c><v>1</v></c></row>".repeat(10_001);
    const bytes = await xlsxOf([{ name: "S", rows }], { more: noise });
    const limits = { ...defaultLimits, max_records: 10_000 };
    const said = await rejectionOf(readDocument("a.xlsx", bytes, { limits }));
    expect(String(said)).toContain("raise ingest.max_records");
    expect(await readDocument("a.xlsx", bytes)).toHaveLength(10_001);
  });

  test("parts and lines of an e-mail", async () => {
    const parts = `${head}Content-Type: multipart/mixed; boundary=a\n\n${"--a\n\nx\n".repeat(100_001)}`;
    expect(await refusal("a.eml", bytesOf(parts))).toContain("has more than 100000 parts");
    const lines = `${head}\n${"\n".repeat(4_000_001)}`;
    expect(await refusal("a.eml", bytesOf(lines))).toContain("has more than 4000000 lines");
    const most = `${head}Content-Type: multipart/mixed; boundary=a\n\n${"--a\n\nx\n".repeat(99_999)}`;
    expect(await outcome("a.eml", bytesOf(most))).toStartWith("# S\n\nFrom: a@example.org");
  });

  test("headers of an e-mail", async () => {
    const mail = `${head}${"X-A: b\n".repeat(500_000)}\nx`;
    expect(await refusal("a.eml", bytesOf(mail))).toContain("is damaged or not an e-mail");
  });
});

describe("a file whose parts lie within each other", () => {
  const depth = 100_000;
  const deep = (name: string, inside: string): string =>
    `<${name}>`.repeat(depth) + inside + `</${name}>`.repeat(depth);

  test("is read all the same, as long as it is well-formed", async () => {
    const slides = [{ shapes: title("T") + deep("p:grpSp", shape(paragraph("deep"))) }];
    expect(await outcome("a.pptx", await pptxOf(slides, { more: noise }))).toBe("# T\n\ndeep");
    const rows = deep("x", row(1, "deep"));
    const bytes = await xlsxOf([{ name: "S", rows }], { more: noise });
    expect(await outcome("a.xlsx", bytes)).toBe("# S\n\ndeep");
    const page = deep("div", "deep");
    const book = await epubOf({ pages: { "a.xhtml": page }, more: noise });
    expect(await outcome("a.epub", book)).toBe("# Llamas\n\ndeep");
  });

  test("as an e-mail is read to a depth, and what is deeper is named", async () => {
    const level = (at: number): string =>
      `${head}Content-Type: multipart/mixed; boundary=b${at}\n\n--b${at}\n\ntext ${at}\n--b${at}\nContent-Type: message/rfc822\n\n`;
    const mail = Array.from({ length: 40 }, (_, at) => level(at)).join("");
    const said = await outcome("a.eml", bytesOf(mail));
    expect(said).toContain("text 5");
    expect(said).not.toContain("text 6");
    expect(said).toContain("Attachments, which were not read: message/rfc822");
    const parts = Array.from(
      { length: 300 },
      (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\n\n--b${at}\n`,
    );
    expect(await refusal("a.eml", bytesOf(head + parts.join("")))).toContain("is damaged");
  });

  test("or refer to each other in a circle", async () => {
    const circle = relations([
      { id: "n1", type: "notesSlide", target: "slide1.xml" },
      { id: "d1", type: "diagramData", target: "slide1.xml" },
    ]);
    const frame = '<dgm:relIds xmlns:dgm="d" r:dm="d1"/>';
    const bytes = await pptxOf([{ shapes: shape(paragraph("round"), "body") + frame }], {
      more: { "ppt/slides/_rels/slide1.xml.rels": circle },
    });
    expect(await outcome("a.pptx", bytes)).toBe(
      "# Slide 1\n\nround\n\n- round\n\n## Notes\n\nround",
    );
  });
});

describe("a file that leads elsewhere", () => {
  test("is not followed, neither to the network nor to the disk", async () => {
    let asked = 0;
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => {
        asked += 1;
        return new Response("<p:sld/>");
      },
    });
    const url = server.url.href;
    const outside = relations([
      { id: "rId10", type: "slide", target: `${url}slide.xml`, isExternal: true },
    ]);
    const slides = [{ shapes: title("T") }];
    const presentation = await pptxOf(slides, {
      more: { "ppt/_rels/presentation.xml.rels": outside },
    });
    expect(await refusal("a.pptx", presentation)).toContain("is damaged");
    for (const target of [
      "../../../../../../etc/passwd",
      "/etc/passwd",
      "file:///etc/passwd",
      url,
    ]) {
      const inside = relations([{ id: "rId10", type: "slide", target }]);
      const bytes = await pptxOf(slides, { more: { "ppt/_rels/presentation.xml.rels": inside } });
      expect(await refusal("a.pptx", bytes)).toContain("is damaged");
      const book = await epubOf({ pages: {}, spine: [target] });
      expect(await refusal("a.epub", book)).toContain("is damaged");
    }
    const page = `<link rel="stylesheet" href="${url}"/><img src="${url}"/><iframe src="${url}"></iframe><p>text</p>`;
    const book = await epubOf({ pages: { "a.xhtml": page } });
    expect(await outcome("a.epub", book)).toBe("# Llamas\n\ntext");
    const mail = `${head}Content-Type: text/html\n\n${page}`;
    expect(await outcome("a.eml", bytesOf(mail))).toEndWith("\n\ntext");
    const word = await docxOf(["text"]);
    expect(await outcome("a.docx", word)).toBe("text");
    expect(asked).toBe(0);
  });
});

/** The same file with another text in place of one of its parts. */
async function withPart(zip: Uint8Array, part: string, content: string): Promise<Uint8Array> {
  const { default: JSZip } = await import("jszip");
  const copy = await JSZip.loadAsync(zip);
  copy.file(part, content);
  return await copy.generateAsync({ type: "uint8array" });
}
