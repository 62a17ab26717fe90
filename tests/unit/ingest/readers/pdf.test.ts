import { describe, expect, test } from "bun:test";
import {
  linesOf,
  type PdfLine,
  type PdfText,
  pdfLayout,
} from "../../../../src/ingest/readers/pdf.ts";
import { readDocument } from "../../../../src/ingest/readers/read.ts";
import { type DocumentPart, pdfOf } from "../../../support/documents.ts";
import { rejectionOf } from "../../../support/rejection.ts";

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

/** Lines of 10 points below one another, each as wide as it has characters. */
function column(texts: readonly string[], place: Partial<PdfLine> = {}): PdfLine[] {
  const { left = 0, down = 0 } = place;
  return texts.map((text, index) => ({
    page: 1,
    size: 10,
    angle: 0,
    ...place,
    text,
    left,
    right: left + 5 * text.length,
    down: down + 12 * index,
  }));
}

const piece = (
  str: string,
  x: number,
  y: number,
  size = 10,
  more: Partial<PdfText> = {},
): PdfText => ({
  str,
  dir: "ltr",
  width: (size / 2) * str.length,
  transform: [size, 0, 0, size, x, y],
  ...more,
});

const textsOf = (...pieces: PdfText[]): string[] => linesOf(pieces, 1).map(({ text }) => text);

describe("a line", () => {
  test("is put together from the pieces on one baseline", () => {
    expect(
      textsOf(
        piece("Lla", 0, 100),
        piece("mas", 15, 100),
        piece("hum", 35, 100),
        piece("3", 50, 104, 6),
        piece("", 0, 88),
        piece("and spit.", 0, 88),
        piece("Right column", 200, 100),
      ),
    ).toEqual(["Llamas hum3", "and spit.", "Right column"]);
  });

  test("is put together on a page that is turned", () => {
    const up = (str: string, x: number, y: number): PdfText =>
      piece(str, x, y, 10, { transform: [0, 10, -10, 0, x, y] });
    expect(textsOf(up("Llamas", 100, 0), up("hum", 100, 35), up("and spit.", 112, 0))).toEqual([
      "Llamas hum",
      "and spit.",
    ]);
  });

  test("is put together from right to left", () => {
    const dir = "rtl";
    expect(textsOf(piece("אב", 50, 100, 10, { dir }), piece(" גד", 30, 100, 10, { dir }))).toEqual([
      "אב גד",
    ]);
  });

  test("loses control characters and most of the dots before a page number", () => {
    expect(textsOf(piece("Food\u0000. . . . . . . . . 7", 0, 100))).toEqual(["Food … 7"]);
  });
});

describe("a layout", () => {
  test("goes on from one column to the next, unless a sentence ends there", () => {
    const left = column(["Llamas hum when they are", "content, and they also do so"]);
    const right = column(["when they are not. They spit", "when they are so angry that."], {
      left: 300,
    });
    const last = column(["They run away."], { left: 600 });
    expect(pdfLayout([...left, ...right, ...last])).toBe(
      "Llamas hum when they are content, and they also do so when they are not. They spit " +
        "when they are so angry that.\n\nThey run away.",
    );
  });

  test("knows a narrow column beside a wide one", () => {
    const narrow = column(["In the high", "Andes of Peru", "llamas hum."]);
    const wide = column(["A column that is much wider than the other one"], {
      left: 100,
      down: 50,
    });
    expect(pdfLayout([...narrow, ...wide])).toBe(
      "In the high Andes of Peru llamas hum.\n\nA column that is much wider than the other one",
    );
  });

  test("goes on from one page to the next, but not in a list", () => {
    const hay = column(["What they eat is not much at all:", "• Hay is dry, and it", "keeps"]);
    const grass = column(["• grass", "In the winter they are fed with", "apples"], { page: 2 });
    const pears = column(["Pears", "That is what they like to eat most"], { page: 3 });
    expect(pdfLayout([...hay, ...grass, ...pears])).toBe(
      "What they eat is not much at all:\n- Hay is dry, and it keeps\n\n- grass\nIn the winter they are fed with apples\n\nPears\n" +
        "That is what they like to eat most",
    );
  });

  test("has a new paragraph where the first line is indented, but not in a list", () => {
    const first = column(["Llamas hum when they are well", "and they spit when not so ok."]);
    const second = column(["Alpacas do the same things as"], { left: 15, down: 24 });
    const rest = column(["llamas do all the day through"], { down: 36 });
    const item = column(["• They hum. They spit. They go."], { down: 48 });
    const more = column(["And so on."], { left: 10, down: 60 });
    expect(pdfLayout([...first, ...second, ...rest, ...item, ...more])).toBe(
      "Llamas hum when they are well and they spit when not so ok.\n\nAlpacas do the same things " +
        "as llamas do all the day through\n- They hum. They spit. They go. And so on.",
    );
  });

  test("keeps the end of a line that had room for more", () => {
    expect(
      pdfLayout(
        column(["Tina Llama", "Valley Road 7", "The valley where all the llamas live", "happily."]),
      ),
    ).toBe("Tina Llama\nValley Road 7\nThe valley where all the llamas live happily.");
  });

  test("keeps the lines of a table of contents", () => {
    expect(pdfLayout(column(["1 Humming … 5", "2 Spitting … 7", "3 Running … ix"]))).toBe(
      "1 Humming … 5\n2 Spitting … 7\n3 Running … ix",
    );
  });

  test("keeps text that is turned by itself", () => {
    const text = column(["Llamas hum when they"]);
    const turned = column(["copied"], { angle: 90, down: 12 });
    expect(pdfLayout([...text, ...turned, ...column(["are content."], { down: 12 })])).toBe(
      "Llamas hum when they\n\ncopied\n\nare content.",
    );
  });

  test("does not take the larger text of a paper with long notes for headings", () => {
    const text = column(["Llamas hum when they are content,", "and they hum when not."]);
    const notes = column(
      ["Some say that they hum otherwise, too,", "and they may hum or may not hum, after all."],
      { size: 8, down: 100 },
    );
    expect(pdfLayout([...text, ...notes])).toBe(
      "Llamas hum when they are content, and they hum when not.\n\n" +
        "Some say that they hum otherwise, too, and they may hum or may not hum, after all.",
    );
  });

  test("joins a heading of two lines, and takes no letter, contents or long text for one", () => {
    const long = "Llamas hum when they are content, and they also hum when they are not. ";
    const large = [
      ...column(["On the humming", "of llamas"], { size: 20, down: 0 }),
      ...column(["T"], { size: 40, down: 70 }),
      ...column(["1 Humming … 5"], { size: 14, down: 100 }),
      ...column([long.repeat(3).trim()], { size: 12, down: 150 }),
    ];
    expect(pdfLayout([...large, ...column([long.repeat(9).trim()], { down: 200 })])).toBe(
      `## On the humming of llamas\n\nT\n\n1 Humming … 5\n\n${long.repeat(3)}\n\n${long.repeat(9)}`
        .replaceAll(" \n", "\n")
        .trim(),
    );
  });

  test("has a heading between lines that are nearly as large", () => {
    const lines = [
      ...column(["Llamas hum when they are content and"], { size: 11 }),
      ...column(["On spitting"], { size: 12, down: 14 }),
      ...column(["they spit", "when they are not content at all, ever"], { size: 11, down: 28 }),
      ...column(Array<string>(6).fill("All that was seen in many years."), { down: 60 }),
    ];
    expect(pdfLayout(lines)).toStartWith(
      "Llamas hum when they are content and\n\n## On spitting\n\nthey spit when they are not",
    );
  });

  test("writes no space between lines of Chinese", () => {
    expect(pdfLayout(column(["大羊驼住在高山", "上。"]))).toBe("大羊驼住在高山上。");
  });
});

describe("a line at the edge of pages", () => {
  const pages = (
    textOf: (page: number) => string,
    place: (page: number) => Partial<PdfLine>,
  ): string =>
    pdfLayout(
      [1, 2, 3].flatMap((page) => [
        ...column([textOf(page)], { page, ...place(page) }),
        ...column(["Llamas hum all day long, and they spit."], { page, down: 50 + 50 * page }),
      ]),
    );
  const text = "Llamas hum all day long, and they spit.";

  test("is left out if it is the same in the same place, but for the page number", () => {
    expect(
      pages(
        (page) => `${page + 4} | Herd 2020`,
        () => ({}),
      ),
    ).toBe([text, text, text].join("\n\n"));
  });

  test.each<[string, (page: number) => string, (page: number) => Partial<PdfLine>]>([
    ["has numbers that do not count the pages", (page) => `Tina ${7 * page} kg.`, () => ({})],
    ["is in another place on each", () => "They hum.", (page) => ({ down: 10 * page })],
  ])("is kept if it %s", (_, textOf, place) => {
    expect(pages(textOf, place)).toBe(
      [1, 2, 3].map((page) => `${textOf(page)}\n\n${text}`).join("\n\n"),
    );
  });

  test("is kept if it is a heading", () => {
    expect(
      pages(
        () => "Exercises",
        () => ({ size: 20 }),
      ),
    ).toBe([1, 2, 3].map(() => `## Exercises\n\n${text}`).join("\n\n"));
  });
});
