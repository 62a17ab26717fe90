/** Tables with a header row, separated by commas, semicolons or tabs: a text for each row. */
import { CsvError, parse } from "csv-parse/sync";
import { NodeError } from "../../core/errors.ts";
import { beyond, type ReadLimits } from "./limits.ts";
import type { ReadOptions, ReadText } from "./read.ts";
import { headingFieldOf, textFieldOf, textUnder } from "./record.ts";
import { decodeText } from "./text-encoding.ts";
import { unreadable } from "./unreadable.ts";

export function readCsv(bytes: Uint8Array, options: ReadOptions): ReadText {
  const text = decodeText(bytes);
  return readTable(text, delimiterOf(text), options);
}

export const readTsv = (bytes: Uint8Array, options: ReadOptions): ReadText =>
  readTable(decodeText(bytes), "\t", options);

function readTable(text: string, delimiter: string, { textField, limits }: ReadOptions): ReadText {
  const [header, ...rows] = parseRows(text, delimiter, limits);
  if (header === undefined) return [];
  const columns = header.map((name) => name.trim());
  const named = columns.filter((name) => name !== "");
  const textColumn = textFieldOf(named, { wanted: textField, called: "column" });
  // Looked up once for the file, not for each row: a file may have very many columns.
  const headingColumn = headingFieldOf(named, textColumn);
  const at = (column: string): number => columns.lastIndexOf(column);
  const [textAt, headingAt] = [
    at(textColumn),
    headingColumn === undefined ? -1 : at(headingColumn),
  ];
  return rows.flatMap((cells) => textUnder(cells[headingAt] ?? "", cells[textAt] ?? ""));
}

function parseRows(text: string, delimiter: string, limits: ReadLimits): string[][] {
  const most = limits.max_records + 1;
  try {
    const rows = parse(text, {
      delimiter,
      record_delimiter: ["\r\n", "\n", "\r"],
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      to: most + 1,
    });
    if (rows.length > most) throw beyond("max_records", limits);
    return rows;
  } catch (cause) {
    if (cause instanceof NodeError) throw cause;
    const where = cause instanceof CsvError ? lineOf(cause) : "";
    throw unreadable(`is not a table of comma- or tab-separated values${where}`, cause);
  }
}

const lineOf = (error: CsvError): string => {
  const line: unknown = Reflect.get(error, "lines");
  if (error.code === "CSV_QUOTE_NOT_CLOSED") return ": a quotation mark is never closed";
  return typeof line === "number" ? `: see line ${line}` : "";
};

/** Spreadsheets in countries with a decimal comma separate by semicolons and still say CSV. */
function delimiterOf(text: string): string {
  const header = (/[^\r\n]+/.exec(text)?.[0] ?? "").replace(/"[^"]*"/g, "");
  const count = (delimiter: string): number => header.split(delimiter).length;
  return [",", ";", "\t"].reduce((best, next) => (count(next) > count(best) ? next : best));
}
