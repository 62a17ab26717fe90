import { describe, expect, test } from "bun:test";
import { readableExtensions } from "../../../../src/ingest/readers/formats.ts";
import { readDocument } from "../../../../src/ingest/readers/read.ts";
import { docxOf, pdfOf } from "../../../support/documents.ts";
import { rejectionOf } from "../../../support/rejection.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("a file", () => {
  test("is read by the format of its extension, whatever the case", async () => {
    const parts = ["Llamas hum."];
    const files: Record<string, Uint8Array> = {
      "a.md": encode("Llamas hum."),
      "B.TXT": encode("Llamas hum."),
      "folder.d/c.Html": encode("<p>Llamas hum.</p>"),
      "d.pdf": await pdfOf(parts),
      "e.docx": await docxOf(parts),
      "f.csv": encode("id,text\n1,Llamas hum.\n"),
      "g.tsv": encode("id\ttext\n1\tLlamas hum.\n"),
      "h.jsonl": encode('{"text": "Llamas hum."}\n'),
    };
    const texts = await Promise.all(
      Object.entries(files).map(([name, bytes]) => readDocument(name, bytes)),
    );
    expect(texts).toEqual(texts.map(() => ["Llamas hum."]));
  });

  test("of every readable extension has a reader", async () => {
    const rejections = await Promise.all(
      readableExtensions.map((extension) =>
        readDocument(`a${extension}`, new Uint8Array()).then(
          () => "",
          (error: unknown) => String(error),
        ),
      ),
    );
    expect(rejections.filter((reason) => reason.includes("does not read"))).toEqual([]);
  });

  test("leaves the bytes it was read from as they were", async () => {
    const bytes = await pdfOf(["Llamas hum."]);
    const before = bytes.slice();
    await readDocument("a.pdf", bytes);
    expect(bytes).toEqual(before);
  });

  test("of another format is refused with the formats that are read", async () => {
    expect(await rejectionOf(readDocument("a.xyz", encode("text")))).toMatchObject({
      kind: "unsupported_media_type",
      message:
        "Paddock does not read '.xyz' files; it reads .md, .markdown, .mdx, .txt, .text, .rst, " +
        ".adoc, .org, .html, .htm, .xhtml, .pdf, .docx, .pptx, .pptm, .ppsx, .xlsx, .xlsm, " +
        ".epub, .eml, .csv, .tsv, .jsonl, .ndjson and source code.",
    });
  });

  test("without an extension is refused as such", async () => {
    const error = await rejectionOf(readDocument("src/Makefile", encode("all:")));
    expect(String(error)).toStartWith(
      "NodeError: Paddock does not read files without an extension; it reads .md, ",
    );
  });
});

describe("reading", () => {
  test("writes nothing to the console, not even about files that are damaged", async () => {
    const pdf = await pdfOf(["Llamas hum."]);
    const script = `
      import { readDocument } from "${new URL("../../../../src/ingest/readers/read.ts", import.meta.url).pathname}";
      const bytes = new Uint8Array(await Bun.stdin.arrayBuffer());
      await readDocument("a.pdf", bytes.slice(0, -40));
      for (const name of ["b.pdf", "c.docx"]) await readDocument(name, bytes.slice(0, 300)).catch(() => {});
    `;
    const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", script], {
      stdin: pdf,
    });
    expect({ exitCode, stdout: stdout.toString(), stderr: stderr.toString() }).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "",
    });
  });
});
