/** Plain text as Markdown: headings, tables, and a backslash before what would be read as a heading or a fence. */

export const heading = (level: number, text: string): string =>
  `${"#".repeat(level)} ${oneLine(text)}`;

export const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

export const escapeMarkers = (text: string): string =>
  text.replace(/^(#{1,6}\s|```|~~~)/gm, "\\$1");

/** Cells of a table, filled up to a rectangle; a larger one is no table. */
export const mostCells = 250_000;

/** Rows as lines with pipes, the first as the header; nothing for fewer than two columns, or for too many cells. */
export function pipeTable(rows: readonly (readonly string[])[]): string | undefined {
  const filled = rows.filter((row) => row.some((cell) => cell !== ""));
  const width = filled.reduce((most, row) => Math.max(most, row.length), 0);
  if (width < 2 || width * filled.length > mostCells) return undefined;
  const line = (cells: readonly string[]): string =>
    `| ${[...cells, ...Array<string>(width - cells.length).fill("")].join(" | ")} |`;
  const [header = [], ...body] = filled;
  return [line(header), line(Array<string>(width).fill("---")), ...body.map(line)].join("\n");
}

export function fence(code: string, language = ""): string {
  const sign = "`".repeat(Math.max(3, longestRun(code) + 1));
  return `${sign}${language}\n${code}\n${sign}`;
}

export const longestRun = (code: string): number =>
  (code.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
