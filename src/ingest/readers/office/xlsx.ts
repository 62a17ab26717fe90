/** Reads Excel workbooks: a text for each row of the visible sheets, with the values that Excel computed last. */
import { beyond, type ReadLimits, textBudget, unreadable } from "../limits.ts";
import type { ReadOptions, ReadText } from "../read.ts";
import { escapeMarkers, heading, oneLine } from "../text/markdown.ts";
import { fieldNamed, headingFieldOf, textFieldOf, textUnder } from "../text/records.ts";
import { mainPart, officeParts, parseXml, relationshipId, relationshipsOf } from "./package.ts";
import {
  parseSheet,
  parseStyles,
  type SheetCell,
  type SheetRow,
  type Workbook,
} from "./xlsx-sheet.ts";
import type { ZipParts } from "./zip.ts";

interface Sheet {
  name: string;
  rows: SheetRow[];
}

export async function readXlsx(
  bytes: Uint8Array,
  { textField, limits }: ReadOptions,
): Promise<ReadText> {
  const sheets = await officeParts(bytes, limits, "xlsx", (parts) => readSheets(parts, limits));
  const counted = textBudget(limits);
  if (textField === undefined) {
    return sheets.flatMap(({ name, rows }) => rowTexts(name, rows, counted));
  }
  const chosen = sheets.map(({ rows }) => columnTexts(rows, textField, counted));
  if (chosen.every(({ texts }) => texts === undefined)) {
    const columns = chosen.flatMap((sheet) => sheet.columns);
    textFieldOf(columns, { wanted: textField, called: "column" });
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
  const partOf = (type: string): Uint8Array | undefined =>
    parts.find([...relationships.values()].find((each) => each.type === type)?.target);
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

/** Every row repeats the heads. */
const longestHead = 100;

/** A table of a sheet: rows under one line of heads. */
interface Table {
  heads: ReadonlyMap<number, string>;
  /** Columns in which something else than words was seen. */
  numbers: Set<number>;
}

type Counted = ReturnType<typeof textBudget>;

/** The texts of a sheet, one a row, under its name. */
function rowTexts(name: string, rows: readonly SheetRow[], counted: Counted): string[] {
  const texts: string[] = [];
  let table: Table | undefined;
  let before = 0;
  for (const [index, row] of rows.entries()) {
    const isApart = row.number > before + 1;
    before = row.number;
    // Heads stand above something.
    const hasMore = index + 1 < rows.length;
    if (hasMore && beginsTable(row, table, isApart || index === 0)) {
      table = { heads: headsOf(row), numbers: new Set() };
      continue;
    }
    // What stands alone above a table, or apart below it, is a title or a note.
    const isLone = row.cells.length === 1 && (table === undefined || isApart);
    const text = escapeMarkers(isLone || table === undefined ? plain(row) : underHeads(row, table));
    texts.push(counted(`${heading(1, name)}\n\n${text}`));
  }
  return texts;
}

/** The texts of the column that was asked for, as those of a CSV; undefined where the sheet has none. */
function columnTexts(
  rows: readonly SheetRow[],
  wanted: string,
  counted: Counted,
): { texts?: string[]; columns: string[] } {
  const [head, ...body] = rows;
  const heads = head === undefined ? new Map<number, string>() : headsOf(head);
  const columns = [...heads.values()];
  const named = fieldNamed(columns, wanted);
  if (named === undefined) return { columns };
  const title = headingFieldOf(columns, named);
  const columnOf = (name: string | undefined): number | undefined =>
    [...heads].find(([, text]) => text === name)?.[0];
  const [textColumn, titleColumn] = [columnOf(named), columnOf(title)];
  const cell = ({ cells }: SheetRow, column: number | undefined): string =>
    cells.find((each) => each.column === column)?.text ?? "";
  // Counted row by row: a shared string may be the title of very many rows.
  const texts = body.flatMap((row) =>
    textUnder(cell(row, titleColumn), cell(row, textColumn)).map((text) => counted(text)),
  );
  return { texts, columns };
}

const headsOf = ({ cells }: SheetRow): Map<number, string> =>
  new Map(cells.map(({ column, text }) => [column, text.slice(0, longestHead)]));

/** Heads are words, or years, months and days. */
const year = /^(?:19|20)\d\d(?:-\d\d(?:-\d\d)?)?$/;

/** Whether a row is a line of heads: several different words, first of all or apart from a table that is another one. */
function beginsTable({ cells }: SheetRow, table: Table | undefined, isApart: boolean): boolean {
  const isWords = cells.length > 1 && cells.every(({ isWord, text }) => isWord || year.test(text));
  if (!isWords || new Set(cells.map(({ text }) => text)).size < cells.length) return false;
  if (table === undefined) return true;
  return (
    isApart && cells.some(({ column }) => !table.heads.has(column) || table.numbers.has(column))
  );
}

const plain = ({ cells }: SheetRow): string => cells.map(({ text }) => text).join(" | ");

function underHeads({ cells }: SheetRow, { heads, numbers }: Table): string {
  return cells
    .map((cell) => {
      if (!cell.isWord) numbers.add(cell.column);
      return `${heads.get(cell.column) ?? lettersOf(cell)}: ${cell.text}`;
    })
    .join("\n");
}

/** What Excel calls a column that has no head. */
function lettersOf({ column }: SheetCell): string {
  let letters = "";
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  }
  return letters;
}
