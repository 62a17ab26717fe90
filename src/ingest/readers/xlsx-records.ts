/** The rows of a sheet as texts: each with the heads of its columns, since a row alone says little. */
import type { TextBudget } from "./limits.ts";
import { escapeMarkers, heading } from "./markdown.ts";
import { headingFieldOf, textUnder } from "./record.ts";
import type { SheetCell, SheetRow } from "./xlsx-sheet.ts";

/** Every row repeats the heads. */
const longestHead = 100;

/** A table of a sheet: rows under one line of heads. */
interface Table {
  heads: ReadonlyMap<number, string>;
  /** Columns in which something else than words was seen. */
  numbers: Set<number>;
}

/** The texts of a sheet, one a row, under its name. */
export function rowTexts(name: string, rows: readonly SheetRow[], budget: TextBudget): string[] {
  const texts: string[] = [];
  let table: Table | undefined;
  let before = 0;
  for (const [index, row] of rows.entries()) {
    const isApart = row.number > before + 1;
    before = row.number;
    const isHead = beginsTable(row, table, isApart || index === 0) && hasMore(rows, index);
    if (isHead) {
      table = { heads: headsOf(row), numbers: new Set() };
      continue;
    }
    // What stands alone above a table, or apart below it, is a title or a note.
    const isLone = row.cells.length === 1 && (table === undefined || isApart);
    const text = escapeMarkers(isLone || table === undefined ? plain(row) : underHeads(row, table));
    texts.push(budget.add(`${heading(1, name)}\n\n${text}`));
  }
  return texts;
}

/** The texts of the column that was asked for, as those of a CSV; undefined where the sheet has none. */
export function columnTexts(
  rows: readonly SheetRow[],
  wanted: string,
  budget: TextBudget,
): { texts: string[] | undefined; columns: string[] } {
  const [head, ...body] = rows;
  const heads = head === undefined ? new Map<number, string>() : headsOf(head);
  const columns = [...heads.values()];
  const named =
    columns.find((name) => name === wanted) ??
    columns.find((name) => name.toLowerCase() === wanted.toLowerCase());
  if (named === undefined) return { texts: undefined, columns };
  const title = headingFieldOf(columns, named);
  const at = (name: string | undefined): number | undefined =>
    [...heads].find(([, text]) => text === name)?.[0];
  const [textAt, titleAt] = [at(named), at(title)];
  const cell = ({ cells }: SheetRow, column: number | undefined): string =>
    cells.find((each) => each.column === column)?.text ?? "";
  const textOf = (row: SheetRow): string[] =>
    textUnder(cell(row, titleAt), cell(row, textAt)).map((text) => budget.add(text));
  return { texts: body.flatMap(textOf), columns };
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

/** Heads stand above something. */
const hasMore = (rows: readonly SheetRow[], index: number): boolean =>
  rows[index + 1] !== undefined;

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
