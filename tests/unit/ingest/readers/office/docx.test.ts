import { describe, expect, test } from "bun:test";
import { readDocument } from "../../../../../src/ingest/readers/read.ts";
import { docxOf } from "../../../../support/documents.ts";
import { rejectionOf } from "../../../../support/rejection.ts";
import { withWrongChecksum } from "../../../../support/zip-file.ts";

describe("a Word document", () => {
  test("keeps its headings, lists and tables, and loses its pictures", async () => {
    const bytes = await docxOf([
      { heading: "Llamas" },
      "They hum & <spit>.",
      "drawing",
      { heading: "Food", level: 2 },
      { list: ["hay", "grass"] },
      {
        table: [
          ["Name", "Age"],
          ["Tina", "7"],
        ],
      },
      "# not a heading",
    ]);
    expect(await readDocument("a.docx", bytes)).toEqual([
      "# Llamas\n\nThey hum & <spit>.\n\n## Food\n\n- hay\n- grass\n\n" +
        "| Name | Age |\n| --- | --- |\n| Tina | 7 |\n\n\\# not a heading",
    ]);
  });

  test("has its title as a heading and its notes at the end", async () => {
    const bytes = await docxOf([
      { title: "Llamas" },
      { text: "They hum.", note: "And spit." },
      "The end.",
    ]);
    expect(await readDocument("a.docx", bytes)).toEqual([
      "# Llamas\n\nThey hum.[1]\n\nThe end.\n\n1. And spit.",
    ]);
  });

  test("without text gives none", async () => {
    expect(await readDocument("a.docx", await docxOf([]))).toEqual([]);
  });

  test.each([
    ["is cut off", async () => (await docxOf(["Llamas hum."])).slice(0, 2000)],
    ["is empty", async () => new Uint8Array()],
    ["is not one", async () => new TextEncoder().encode("Llamas hum.")],
    ["lies about its checksum", async () => withWrongChecksum(await docxOf(["Llamas hum."]))],
  ])("is refused if it %s", async (_, bytes) => {
    expect(await rejectionOf(readDocument("a.docx", await bytes()))).toMatchObject({
      kind: "invalid_request",
      message: "is damaged or not a Word document; open it in Word and save it again as .docx.",
    });
  });

  test("is refused as what it is if it is another kind of archive", async () => {
    const bytes = Bun.zstdCompressSync("Llamas hum.");
    expect(await rejectionOf(readDocument("a.docx", bytes))).toMatchObject({
      kind: "unsupported_media_type",
      message: expect.stringContaining("is a Zstandard archive, and archives are not read; unpack"),
    });
  });

  test("is refused if it is encrypted or of the old kind", async () => {
    const bytes = Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0, 0);
    expect(await rejectionOf(readDocument("a.docx", bytes))).toMatchObject({
      kind: "invalid_request",
      message: "is encrypted or in the old .doc format; save it as .docx without a password.",
    });
  });
});
