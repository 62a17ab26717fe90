/** A table of HTML as a pipe table of Markdown. */
import { lineText } from "./html-text.ts";
import type { HtmlElement } from "./html-tree.ts";
import { mostCells, pipeTable } from "./markdown.ts";

/** Larger spans are a mistake or an attack, and shortened to these. */
const mostColumns = 20;
const mostRows = 200;
/** Characters that cells over several rows may repeat in a table; beyond it, the cells below stay blank. */
const mostRepeated = 500_000;

/** The rows as lines with pipes, the first as the header; nothing for a table with one column or less, or with too many cells. */
export function htmlTable(table: HtmlElement): string | undefined {
  const grid = gridOf(rowsOf(table));
  return grid === undefined ? undefined : pipeTable(grid);
}

function rowsOf(element: HtmlElement): HtmlElement[] {
  return element.children.flatMap((child) => {
    if (typeof child === "string") return [];
    if (child.tag === "tr") return [child];
    return ["thead", "tbody", "tfoot"].includes(child.tag) ? rowsOf(child) : [];
  });
}

/** The cells' texts by row and column; a cell over several rows says its text in each of them. */
function gridOf(rows: readonly HtmlElement[]): string[][] | undefined {
  let reaching = new Map<number, { text: string; rows: number }>();
  let count = 0;
  let repeated = 0;
  const grid: string[][] = [];
  for (const row of rows) {
    const cells: string[] = [];
    const next = new Map<number, { text: string; rows: number }>();
    const fillFromAbove = (): void => {
      for (let above = reaching.get(cells.length); above; above = reaching.get(cells.length)) {
        if (above.rows > 1) next.set(cells.length, { text: above.text, rows: above.rows - 1 });
        repeated += above.text.length;
        cells.push(repeated > mostRepeated ? "" : above.text);
      }
    };
    for (const cell of row.children) {
      if (typeof cell === "string" || (cell.tag !== "td" && cell.tag !== "th")) continue;
      fillFromAbove();
      const text = lineText(cell.children).replaceAll("|", "\\|");
      const down = spanOf(cell.attributes.rowspan, mostRows);
      const across = spanOf(cell.attributes.colspan, mostColumns);
      for (let column = 0; column < across; column += 1) {
        if (down > 1) next.set(cells.length, { text: column === 0 ? text : "", rows: down - 1 });
        cells.push(column === 0 ? text : "");
      }
    }
    fillFromAbove();
    reaching = next;
    count += cells.length;
    if (count > mostCells) return undefined;
    grid.push(cells);
  }
  return grid;
}

function spanOf(written: string | undefined, most: number): number {
  const span = Number.parseInt(written ?? "1", 10);
  return span > 1 ? Math.min(span, most) : 1;
}
