import { describe, expect, test } from "bun:test";
import { kindOfCode, numberText } from "../../../../../src/ingest/readers/office/xlsx-sheet.ts";
import { readDocument } from "../../../../../src/ingest/readers/read.ts";
import {
  row,
  type SheetPart,
  type WorkbookParts,
  type Writer,
  xlsxOf,
} from "../../../../support/office-files.ts";
import { rejectionOf } from "../../../../support/rejection.ts";

const read = async (sheets: readonly SheetPart[], parts: WorkbookParts = {}) =>
  await readDocument("a.xlsx", await xlsxOf(sheets, parts));

const one = (rows: string, after = ""): SheetPart[] => [{ name: "Herd", rows, after }];

describe("a workbook", () => {
  test.each<Writer>(["Office", "LibreOffice", "Google", "Open XML SDK", "strict"])(
    "as %s writes it has a text for each row, with the heads of its columns",
    async (writer) => {
      const sheets = [
        {
          name: "Herd &amp; home",
          rows: '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row><row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2"><v>7</v></c></row><row><c t="s"><v>3</v></c><c><v>9</v></c></row>',
        },
        { name: "Pets", rows: row(1, "Name", "Kind") + row(2, "Rex", "dog") },
      ];
      const strings =
        "<si><t>Name</t></si><si><t>Age</t></si><si><r><t>Du</t></r><r><rPr/><t>sty</t></r><rPh><t>x</t></rPh></si><si><t> Fuzz \n y </t></si>";
      expect(await read(sheets, { writer, strings })).toEqual([
        "# Herd & home\n\nName: Dusty\nAge: 7",
        "# Herd & home\n\nName: Fuzz y\nAge: 9",
        "# Pets\n\nName: Rex\nKind: dog",
      ]);
    },
  );

  test("shows what cells stand for: dates, times, percentages, truth, what formulas gave", async () => {
    const styles =
      '<numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm"/></numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="20"/><xf numFmtId="10"/><xf numFmtId="46"/></cellXfs>';
    const cells = [
      '<c s="1"><v>45352</v></c>',
      '<c s="2"><v>45352.5625</v></c>',
      '<c s="3"><v>0.25</v></c>',
      '<c s="4"><v>0.07</v></c>',
      '<c s="5"><v>1.5</v></c>',
      '<c t="b"><v>1</v></c>',
      '<c t="str"><f>A1&amp;"x"</f><v>text x</v></c>',
      "<c><f>SUM(A1:A2)</f><v>0.30000000000000004</v></c>",
      "<c><f>NOW()</f></c>",
      '<c t="e"><v>#N/A</v></c>',
      '<c t="d"><v>2024-03-01T00:00:00</v></c>',
      '<c s="1"/>',
    ];
    expect(await read(one(`<row>${cells.join("")}</row>`), { styles })).toEqual([
      "# Herd\n\n2024-03-01 | 2024-03-01 13:30 | 06:00 | 7% | 36:00 | TRUE | text x | 0.3 | =NOW() | #N/A | 2024-03-01",
    ]);
  });

  test("may count its days from 1904", async () => {
    const styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>';
    const rows = '<row><c s="1"><v>0</v></c><c s="1"><v>366</v></c></row>';
    expect(await read(one(rows), { styles, is1904: true })).toEqual([
      "# Herd\n\n1904-01-01 | 1905-01-01",
    ]);
  });

  test("leaves hidden sheets out", async () => {
    const sheets: SheetPart[] = [
      { name: "Lists", rows: row(1, "secret"), state: "hidden" },
      { name: "Deep", rows: row(1, "secret"), state: "veryHidden" },
      { name: "Shown", rows: row(1, "open") },
    ];
    expect(await read(sheets)).toEqual(["# Shown\n\nopen"]);
    expect(await rejectionOf(read(sheets.slice(0, 2)))).toMatchObject({
      kind: "invalid_request",
      message: "has hidden sheets only; show those that are to be read.",
    });
  });

  test("says a cell over several rows in each of them", async () => {
    const rows =
      row(1, "Region", "City") +
      row(2, "North", "Kiel") +
      row(3, null, "Husum") +
      row(4, "South", "Ulm");
    const merges = '<mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="A1:B1"/></mergeCells>';
    expect(await read(one(rows, merges))).toEqual([
      "# Herd\n\nRegion: North\nCity: Kiel",
      "# Herd\n\nRegion: North\nCity: Husum",
      "# Herd\n\nRegion: South\nCity: Ulm",
    ]);
  });

  test("may have titles, notes and several tables in a sheet, and years for heads", async () => {
    const rows =
      row(1, "Report of the herd") +
      row(3, "", 2023, 2024) +
      row(4, "Wool", 12, 14) +
      row(6, "Name", "Age") +
      row(7, "Dusty", 7) +
      row(8, "Fuzz", 9, 3) +
      row(10, "# checked by Ann");
    expect(await read(one(rows))).toEqual([
      "# Herd\n\nReport of the herd",
      "# Herd\n\nA: Wool\n2023: 12\n2024: 14",
      "# Herd\n\nName: Dusty\nAge: 7",
      "# Herd\n\nName: Fuzz\nAge: 9\nC: 3",
      "# Herd\n\n\\# checked by Ann",
    ]);
  });

  test("goes on with a table of words below an empty row", async () => {
    const rows = row(1, "Name", "Kind") + row(2, "Rex", "dog") + row(4, "Mia", "cat");
    expect(await read(one(rows))).toEqual([
      "# Herd\n\nName: Rex\nKind: dog",
      "# Herd\n\nName: Mia\nKind: cat",
    ]);
  });

  test("is read by one column where that is asked for, as a CSV is", async () => {
    const bytes = await xlsxOf([
      { name: "A", rows: row(1, "Title", "Note") + row(2, "Wool", "It is warm.") + row(3, "", "") },
      { name: "B", rows: row(1, "Other", "Things") },
    ]);
    expect(await readDocument("a.xlsx", bytes, { textField: "note" })).toEqual([
      "# Wool\n\nIt is warm.",
    ]);
    expect(await rejectionOf(readDocument("a.xlsx", bytes, { textField: "body" }))).toMatchObject({
      message:
        "has no column 'body'; there is 'Title', 'Note', 'Other', 'Things'; change --text-field.",
    });
  });

  test("may lie far out in its sheet, and be empty", async () => {
    const far = '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>far</t></is></c></row>';
    expect(await read(one(far))).toEqual(["# Herd\n\nfar"]);
    expect(await read(one('<row r="1"><c r="A1" s="3"/></row>'))).toEqual([]);
  });

  test("may hold a sheet that is a chart", async () => {
    const bytes = await xlsxOf(one(row(1, "a")), {
      more: {
        "xl/_rels/workbook.xml.rels":
          '<Relationships><Relationship Id="s1" Type="x/chartsheet" Target="chartsheets/sheet1.xml"/></Relationships>',
      },
    });
    expect(await readDocument("a.xlsx", bytes)).toEqual([]);
  });
});

describe("a number format", () => {
  test.each([
    ["General", "number"],
    ["#,##0.00", "number"],
    ['#,##0.00 "days"', "number"],
    ["[$€-407] #,##0", "number"],
    ["[Red]-0.0;[Blue]0", "number"],
    ["0.00E+00", "number"],
    ["@", "number"],
    ["0%", "percent"],
    ["dd/mm/yyyy", "date"],
    ["mmm", "date"],
    ["[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "date"],
    ["h:mm AM/PM", "time"],
    ["mm:ss", "time"],
    ["d/m/yy h:mm", "moment"],
    ["[h]:mm:ss", "duration"],
  ] as const)("%s stands for a %s", (code, kind) => {
    expect(kindOfCode(code)).toBe(kind);
  });

  test.each([
    ["1", "date", "1900-01-01"],
    ["59", "date", "1900-02-28"],
    ["61", "date", "1900-03-01"],
    ["1e9", "date", "1000000000"],
    ["-1", "date", "-1"],
    ["0.999988425925926", "time", "23:59:59"],
    ["1e400", "number", "1e400"],
    ["", "number", ""],
    ["12345678901234567890", "number", "12345678901234600000"],
  ] as const)("writes %s of a %s as %s", (written, kind, text) => {
    expect(numberText(written, kind, 1900)).toBe(text);
  });
});
