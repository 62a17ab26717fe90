import { describe, expect, test } from "bun:test";
import { defaultLimits, type ReadLimits } from "../../../../src/ingest/readers/limits.ts";
import { readDocument } from "../../../../src/ingest/readers/read.ts";
import { pdfOf } from "../../../support/documents.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { wordFile } from "../../../support/word-file.ts";

const paragraph = "<w:p><w:r><w:t>a</w:t></w:r></w:p>";
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const withLimits = (limits: Partial<ReadLimits>): { limits: ReadLimits } => ({
  limits: { ...defaultLimits, ...limits },
});

/** A Word file whose directory says that its text is short. */
async function lyingWordFile(body: string): Promise<Uint8Array> {
  const bytes = Buffer.from(await wordFile(body));
  const [nameAt, sizeAt] = [46, 24];
  const directoryEntry = bytes.lastIndexOf("word/document.xml") - nameAt;
  bytes.writeUInt32LE(100, directoryEntry + sizeAt);
  return bytes;
}

describe("a file beyond a limit is refused by its name", () => {
  test.each<[keyof ReadLimits, number, string, () => Uint8Array | Promise<Uint8Array>]>([
    ["max_file_bytes", 10, "a.md", () => bytesOf("more than ten bytes")],
    ["max_unpacked_bytes", 1000, "a.docx", () => wordFile(paragraph.repeat(1000))],
    ["max_elements", 100, "a.docx", () => wordFile(paragraph.repeat(1000))],
    ["max_elements", 100, "a.html", () => bytesOf("<b>a</b>".repeat(101))],
    ["max_pages", 1, "a.pdf", () => pdfOf(["one", "new page", "two"])],
    ["max_records", 2, "a.csv", () => bytesOf("text\na\nb\nc\n")],
    ["max_records", 2, "a.jsonl", () => bytesOf('"a"\n"b"\n"c"\n"d"\n')],
    ["max_text_length", 5, "a.txt", () => bytesOf("more than five")],
    ["max_text_length", 5, "a.pdf", () => pdfOf(["more than five"])],
  ])("%s = %d: %s", async (limit, most, name, bytes) => {
    const read = readDocument(name, await bytes(), withLimits({ [limit]: most }));
    const refusal = await rejectionOf(read);
    expect(refusal).toMatchObject({ kind: "invalid_request" });
    expect(String(refusal)).toContain(`has more than ${most} `);
    expect(String(refusal)).toContain(`raise ingest.${limit}.`);
  });

  test("max_unpack_ratio: 4 kB that unpack to 1 MB", async () => {
    const bytes = await wordFile(paragraph.repeat(1_000_000 / paragraph.length));
    expect(bytes.length).toBeLessThan(5000);
    expect(String(await rejectionOf(readDocument("a.docx", bytes)))).toContain("max_unpack_ratio");
  });

  test.each(["max_unpack_ratio", "max_unpacked_bytes"] as const)(
    "%s, though the file says that it unpacks to little",
    async (limit) => {
      const bytes = await lyingWordFile(paragraph.repeat(100_000));
      const most = limit === "max_unpack_ratio" ? 100 : 50_000;
      const read = readDocument("a.docx", bytes, withLimits({ [limit]: most }));
      expect(String(await rejectionOf(read))).toContain(limit);
    },
  );

  test("but not for its pictures, which are not unpacked", async () => {
    const bytes = await wordFile(paragraph, { "word/media/white.bmp": new Uint8Array(5_000_000) });
    expect(await readDocument("a.docx", bytes)).toEqual(["a"]);
  });

  test("nor at a limit itself", async () => {
    const limits = withLimits({ max_records: 2, max_file_bytes: 9, max_text_length: 2 });
    expect(await readDocument("a.csv", bytesOf("text\na\nb\n"), limits)).toEqual(["a", "b"]);
  });
});
