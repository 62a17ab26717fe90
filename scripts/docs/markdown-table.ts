/** Rows as a table of Markdown. */

export function toMarkdownTable(
  names: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(names), `|${"---|".repeat(names.length)}`, ...rows.map(line)].join("\n");
}
