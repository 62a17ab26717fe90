import { describe, expect, test } from "bun:test";
import { defaultLimits } from "../../../../../src/ingest/readers/limits.ts";
import { readDocument } from "../../../../../src/ingest/readers/read.ts";
import {
  paragraph,
  pptxOf,
  type SlidePart,
  shape,
  title,
  type Writer,
} from "../../../../support/office-files.ts";
import { rejectionOf } from "../../../../support/rejection.ts";

const read = async (...slides: SlidePart[]): Promise<string> =>
  (await readDocument("a.pptx", await pptxOf(slides))).join("\n-----\n");

describe("a presentation", () => {
  test.each<Writer>(["Office", "LibreOffice", "Google", "strict"])(
    "as %s writes it has its slides in their order, under their titles",
    async (writer) => {
      const slides = [
        { shapes: title("Spitting") + shape(paragraph("They aim well."), "") },
        { shapes: shape(paragraph("Llamas"), "ctrTitle") + shape(paragraph("A talk"), "subTitle") },
      ];
      const bytes = await pptxOf(slides, { writer, order: [1, 0] });
      expect(await readDocument("a.pptx", bytes)).toEqual([
        "# Llamas\n\nA talk\n\n# Spitting\n\nThey aim well.",
      ]);
    },
  );

  test("keeps the levels of its bullets and numbers", async () => {
    const level = (text: string, lvl: number, more = ""): string =>
      paragraph(text, `<a:pPr lvl="${lvl}">${more}</a:pPr>`);
    const text = await read({
      shapes:
        title("Food") +
        shape(
          paragraph("Hay") +
            level("meadow", 1) +
            level("first cut", 2, '<a:buAutoNum type="arabicPeriod"/>') +
            level("second cut", 2, '<a:buAutoNum type="arabicPeriod"/>') +
            paragraph("Water") +
            level("Never chocolate.", 0, "<a:buNone/>"),
          "body",
        ) +
        shape(
          paragraph("A box &amp; <![CDATA[<text>]]>") + level("marked", 0, '<a:buChar char="•"/>'),
        ),
    });
    expect(text).toBe(
      "# Food\n\n- Hay\n   - meadow\n      1. first cut\n      2. second cut\n- Water\n\nNever chocolate.\n\n" +
        "A box & <text>\n\n- marked",
    );
  });

  test("has its tables, with merged cells in every row", async () => {
    const cell = (text: string, attributes = ""): string =>
      `<a:tc${attributes}><a:txBody><a:bodyPr/>${paragraph(text)}</a:txBody></a:tc>`;
    const table = `<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tblGrid/><a:tr>${cell("Animal")}${cell("Sound")}</a:tr><a:tr>${cell("Llama", ' rowSpan="2"')}${cell("hum|hm")}</a:tr><a:tr>${cell("", ' vMerge="1"')}${cell("cluck")}</a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>`;
    expect(await read({ shapes: title("Sounds") + table })).toBe(
      "# Sounds\n\n| Animal | Sound |\n| --- | --- |\n| Llama | hum\\|hm |\n| Llama | cluck |",
    );
  });

  test("has what groups, line breaks and fields hold, and no footers or numbers", async () => {
    const broken = "<a:p><a:r><a:t>one</a:t></a:r><a:br/><a:fld><a:t>two</a:t></a:fld></a:p>";
    const text = await read({
      shapes:
        title("Many\nlines") +
        `<p:grpSp><p:grpSpPr/><p:grpSp>${shape(broken)}</p:grpSp></p:grpSp>` +
        shape(paragraph("7"), "sldNum") +
        shape(paragraph("ACME"), "ftr") +
        shape(paragraph("1 May"), "dt"),
    });
    expect(text).toBe("# Many lines\n\none\ntwo");
  });

  test("has the speaker's notes under the slide", async () => {
    const notes = `${shape("", "sldImg")}${shape(paragraph("Pause here.") + paragraph("Then go on."), "body")}${shape(paragraph("3"), "sldNum")}`;
    expect(await read({ shapes: title("Wool"), notes })).toBe(
      "# Wool\n\n## Notes\n\nPause here.\n\nThen go on.",
    );
  });

  test("has the text of its diagrams", async () => {
    const frame =
      '<p:graphicFrame><a:graphic><a:graphicData><dgm:relIds xmlns:dgm="d" r:dm="d1" r:lo="d2"/></a:graphicData></a:graphic></p:graphicFrame>';
    const data = `<dgm:dataModel xmlns:dgm="d" xmlns:a="a"><dgm:ptLst><dgm:pt><dgm:t>${paragraph("Shear")}</dgm:t></dgm:pt><dgm:pt><dgm:t>${paragraph("Spin")}</dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>`;
    const relations = [{ id: "d1", type: "diagramData", target: "../diagrams/data1.xml" }];
    const bytes = await pptxOf([{ shapes: title("Steps") + frame, relations }], {
      more: { "ppt/diagrams/data1.xml": data },
    });
    expect(await readDocument("a.pptx", bytes)).toEqual(["# Steps\n\n- Shear\n- Spin"]);
  });

  test("takes what newer programs show, and not what older ones show in its place", async () => {
    const alternatives = `<mc:AlternateContent><mc:Choice Requires="a14">${shape(paragraph("new"))}</mc:Choice><mc:Fallback>${shape(paragraph("old"))}</mc:Fallback></mc:AlternateContent>`;
    expect(await read({ shapes: title("T") + alternatives })).toBe("# T\n\nnew");
  });

  test("calls a slide without a title by its number, and leaves hidden ones out", async () => {
    const slides = [
      { shapes: title("Secret"), isHidden: true, notes: shape(paragraph("hidden too"), "body") },
      { shapes: shape(paragraph("# not a heading")) },
    ];
    expect(await read(...slides)).toBe("# Slide 2\n\n\\# not a heading");
  });

  test("without text gives none", async () => {
    expect(await readDocument("a.pptx", await pptxOf([]))).toEqual([]);
    expect(await readDocument("a.pptx", await pptxOf([{ shapes: "<p:pic/>" }]))).toEqual([]);
  });

  test("of hidden slides only is refused", async () => {
    const refusal = await rejectionOf(read({ shapes: title("Secret"), isHidden: true }));
    expect(refusal).toMatchObject({
      kind: "invalid_request",
      message: "has hidden slides only; show those that are to be read.",
    });
  });

  test("of more slides than may be is refused", async () => {
    const bytes = await pptxOf([{ shapes: title("A") }, { shapes: title("B") }]);
    const limits = { ...defaultLimits, max_pages: 1 };
    expect(String(await rejectionOf(readDocument("a.pptx", bytes, { limits })))).toContain(
      "has more than 1 pages, slides or sheets; divide it, or raise ingest.max_pages",
    );
  });
});
