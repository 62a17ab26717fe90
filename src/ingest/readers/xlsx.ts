/** Excel workbooks: a text for each row of the sheets that are shown, with the values that Excel computed last. */
import { beyond, type ReadLimits, TextBudget } from "./limits.ts";
import { oneLine } from "./markdown.ts";
import { officeParts } from "./office-file.ts";
import { mainPart, relationshipsOf } from "./office-package.ts";
import type { ReadOptions, ReadText } from "./read.ts";
import { textFieldOf } from "./record.ts";
import { unreadable } from "./unreadable.ts";
import { parseStyles } from "./xlsx-formats.ts";
import { columnTexts, rowTexts } from "./xlsx-records.ts";
import { parseSheet, type SheetRow, type Workbook } from "./xlsx-sheet.ts";
import { parseXml, relationshipId } from "./xml.ts";
import type { ZipParts } from "./zip-parts.ts";

interface Sheet {
  name: string;
  rows: SheetRow[];
}

export function readXlsx(bytes: Uint8Array, { textField, limits }: ReadOptions): ReadText {
  const sheets = officeParts(bytes, limits, "xlsx", (parts) => readSheets(parts, limits));
  const budget = new TextBudget(limits);
  if (textField === undefined) {
    return sheets.flatMap(({ name, rows }) => rowTexts(name, rows, budget));
  }
  const chosen = sheets.map(({ rows }) => columnTexts(rows, textField, budget));
  if (chosen.every(({ texts }) => texts === undefined)) {
    textFieldOf(
      chosen.flatMap(({ columns }) => columns),
      { wanted: textField, called: "column" },
    );
  }
  return chosen.flatMap(({ texts = [] }) => texts);
}

function readSheets(parts: ZipParts, limits: ReadLimits): Sheet[] {
  const main = mainPart(parts);
  const relationships = relationshipsOf(parts, main);
  const listed: { name: string; id: string | undefined; isHidden: boolean }[] = [];
  let calendar: Workbook["calendar"] = 1900;
  parseXml(parts.read(main), {
    open: (element, attributes) => {
      if (element === "workbookPr" && /^(?:1|true)$/.test(attributes.date1904 ?? "")) {
        calendar = 1904;
      } else if (element === "sheet") {
        const { name = "", state = "visible" } = attributes;
        const id = relationshipId(attributes);
        listed.push({ name: oneLine(name), id, isHidden: state !== "visible" });
      }
    },
  });
  if (listed.length > limits.max_pages) throw beyond("max_pages", limits);
  const shown = listed.filter(({ isHidden }) => !isHidden);
  if (shown.length === 0 && listed.length > 0) {
    throw unreadable("has hidden sheets only; show those that are to be read");
  }
  const partOf = (type: string): Uint8Array | undefined => {
    const found = [...relationships.values()].find((each) => each.type === type);
    return found === undefined ? undefined : parts.find(found.target);
  };
  const strings = parseStrings(partOf("sharedStrings"));
  const book: Workbook = { strings, kinds: parseStyles(partOf("styles")), calendar, limits };
  return shown.flatMap(({ name, id }) => {
    const sheet = id === undefined ? undefined : relationships.get(id);
    if (sheet === undefined) throw new Error(`the sheet ${name} is missing`);
    // A sheet may also be a chart.
    if (sheet.type !== "worksheet") return [];
    return [{ name, rows: parseSheet(parts.read(sheet.target), book) }];
  });
}

/** The texts that cells refer to by number, without the reading aids of eastern Asia. */
function parseStrings(xml: Uint8Array | undefined): string[] {
  const strings: string[] = [];
  if (xml === undefined) return strings;
  let text = "";
  let isAid = false;
  parseXml(xml, {
    open: (name) => {
      if (name === "si") text = "";
      else if (name === "rPh") isAid = true;
    },
    close: (name, written) => {
      if (name === "t" && !isAid) text += written;
      else if (name === "rPh") isAid = false;
      else if (name === "si") strings.push(oneLine(text));
    },
  });
  return strings;
}
