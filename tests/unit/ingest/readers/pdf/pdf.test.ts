import { describe, expect, test } from "bun:test";
import { readDocument } from "../../../../../src/ingest/readers/read.ts";
import { type DocumentPart, pdfOf } from "../../../../support/documents.ts";
import { rejectionOf } from "../../../../support/rejection.ts";

const read = async (...parts: DocumentPart[]): Promise<string> =>
  (await readDocument("a.pdf", await pdfOf(parts))).join("\n-----\n");

const refused = (message: string) => ({ kind: "invalid_request", message });

/** Several lines on a page, and none that would have had room for the next word. */
const long = (subject: string): string =>
  `${subject} live high up in the mountains, where the air is thin and the nights are cold, and ` +
  `they carry what people need from one valley to the next, as ${subject} have always done there.`;

describe("a PDF", () => {
  test("keeps its headings and paragraphs", async () => {
    expect(
      await read(
        { heading: "On llamas" },
        long("llamas"),
        { heading: "Food", level: 3 },
        long("alpacas"),
        long("goats"),
      ),
    ).toBe(
      `## On llamas\n\n${long("llamas")}\n\n## Food\n\n${long("alpacas")}\n\n${long("goats")}`,
    );
  });

  test("joins a word that was divided at the end of a line, but not a compound", async () => {
    expect(await read("This is an exam-\nple of a Franco-\nGerman llama \u2013 or\ntwo.")).toBe(
      "This is an example of a Franco-German llama – or two.",
    );
  });

  test("lets a sentence go on over the end of a page", async () => {
    expect(
      await read(
        "The llama went over the moun-",
        "new page",
        "tain and was",
        "new page",
        "never seen again.",
        "new page",
        "The end.",
      ),
    ).toBe("The llama went over the mountain and was never seen again.\n\nThe end.");
  });

  test("leaves out what stands at the edges of all pages", async () => {
    const footer = (page: number): DocumentPart => ({ footer: `Herd report, page ${page} of 3` });
    expect(
      await read(
        "The llama went over the",
        footer(1),
        "new page",
        "mountain in 1999 and was",
        footer(2),
        "new page",
        "never seen again.",
        footer(3),
      ),
    ).toBe("The llama went over the mountain in 1999 and was never seen again.");
  });

  test("keeps lists and tables in lines", async () => {
    expect(
      await read(
        long("llamas"),
        { list: ["hay", long("grass"), "water"] },
        {
          table: [
            ["Name", "Age"],
            ["Tina", "7"],
          ],
        },
      ),
    ).toBe(`${long("llamas")}\n\n- hay\n- ${long("grass")}\n- water\n\nName Age\nTina 7`);
  });

  test("does not take a watermark for a heading", async () => {
    expect(await read({ watermark: "DRAFT" }, long("llamas"))).toBe(`DRAFT\n\n${long("llamas")}`);
  });

  test("does not take a line with a number sign for a heading", async () => {
    expect(await read("# is a number sign")).toBe("\\# is a number sign");
  });
});

describe("a PDF is refused", () => {
  test.each<[string, DocumentPart[]]>([
    ["with a drawing only", ["drawing"]],
    ["with nothing", []],
  ])("%s, as it may be a scan", async (_, parts) => {
    expect(await rejectionOf(read(...parts))).toMatchObject(
      refused("has no text in it, perhaps it is a scan; run it through OCR first."),
    );
  });

  test("with a password", async () => {
    const bytes = await pdfOf(["Llamas hum."], { password: "secret" });
    expect(await rejectionOf(readDocument("a.pdf", bytes))).toMatchObject(
      refused("is encrypted; save a copy without a password."),
    );
  });

  test.each([
    ["cut off", async () => (await pdfOf(["Llamas hum."])).slice(0, 600)],
    ["empty", async () => new Uint8Array()],
    ["another format", async () => new TextEncoder().encode("Llamas hum.")],
  ])("that is %s", async (_, bytes) => {
    expect(await rejectionOf(readDocument("a.pdf", await bytes()))).toMatchObject(
      refused("is damaged or not a PDF; try to open it and save it again."),
    );
  });
});
