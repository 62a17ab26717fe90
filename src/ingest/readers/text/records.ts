/** Converts a record of data to text: chooses the field for the text, and one for its heading. */
import { CsvError, parse } from "csv-parse/sync";
import { asUnreadable, beyond, type ReadLimits, unreadable } from "../limits.ts";
import type { ReadOptions, ReadText } from "../read.ts";
import { heading } from "./markdown.ts";
import { decodeText } from "./plain-text.ts";

const usualTextFields = "text content body passage source document description answer".split(" ");
const usualHeadingFields = ["title", "heading", "question"];

export interface FieldChoice {
  wanted: string | undefined;
  /** What a field is called in this format. */
  called: string;
  /** Where in the file the fields are, as " in line 3"; nothing for all of it. */
  where?: string;
}

/** The name among `fields` that holds the text. */
export function textFieldOf(
  fields: readonly string[],
  { wanted, called, where = "" }: FieldChoice,
): string {
  const field = wanted === undefined ? find(fields, usualTextFields) : fieldNamed(fields, wanted);
  if (field !== undefined) return field;
  const there =
    fields.length === 0 ? `there is no ${called} at all` : `there is ${namesOf(fields)}`;
  throw unreadable(
    wanted === undefined
      ? `has no ${called} with a usual name for text${where}; ${there}; choose with --text-field NAME`
      : `has no ${called} '${wanted}'${where}; ${there}; change --text-field`,
  );
}

/** The name among `fields` that holds what stands above the text; undefined where none does. */
export function headingFieldOf(fields: readonly string[], textField: string): string | undefined {
  const others = fields.filter((name) => name !== textField);
  return find(others, usualHeadingFields);
}

/** A text under its title, where it has one; nothing where the text is blank. */
export function textUnder(title: string, text: string): string[] {
  if (text.trim() === "") return [];
  return [title.trim() === "" ? text.trim() : `${heading(1, title.trim())}\n\n${text.trim()}`];
}

/** The names for a message, shortened: a file may have very many of them, and very long ones. */
function namesOf(fields: readonly string[]): string {
  const named = fields
    .slice(0, mostNamed)
    .map((name) => `'${name.length > longestName ? `${name.slice(0, longestName)}…` : name}'`);
  const more = fields.length - named.length;
  return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const mostNamed = 20;
const longestName = 50;

/** The field that has the earliest of the names, whatever its case. */
function find(fields: readonly string[], names: readonly string[]): string | undefined {
  const lowered = fields.map((field) => field.toLowerCase());
  const name = names.find((candidate) => lowered.includes(candidate));
  return name === undefined ? undefined : fields[lowered.indexOf(name)];
}

/** The field with this name, if possible also in its case. */
export const fieldNamed = (fields: readonly string[], wanted: string): string | undefined =>
  fields.includes(wanted) ? wanted : find(fields, [wanted.toLowerCase()]);

/** Tables with a header row, separated by commas, semicolons or tabs: a text for each row. */
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
  const textAt = columns.lastIndexOf(textColumn);
  const headingAt = headingColumn === undefined ? -1 : columns.lastIndexOf(headingColumn);
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
    const where = cause instanceof CsvError ? lineOf(cause) : "";
    throw asUnreadable(cause, `is not a table of comma- or tab-separated values${where}`);
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

/** JSON records, one a line: a text for each. */
export function readJsonl(bytes: Uint8Array, options: ReadOptions): ReadText {
  const lines = decodeText(bytes).split("\n");
  if (lines.length > options.limits.max_records + 1) throw beyond("max_records", options.limits);
  return lines.flatMap((line, index) =>
    line.trim() === "" ? [] : readLine(line, index + 1, options),
  );
}

function readLine(line: string, number: number, { textField }: ReadOptions): string[] {
  const record = parseLine(line, number);
  if (typeof record === "string") return record.trim() === "" ? [] : [record.trim()];
  if (typeof record !== "object" || record === null || Array.isArray(record)) {
    throw unreadable(`has neither a JSON object nor a string in line ${number}`);
  }
  const fields = new Map<string, string>();
  for (const [name, value] of Object.entries(record)) {
    if (typeof value === "string") fields.set(name, value);
    if (value === null) fields.set(name, "");
  }
  const where = ` in line ${number}`;
  const names = [...fields.keys()];
  const field = textFieldOf(names, { wanted: textField, called: "text field", where });
  const heading = headingFieldOf(names, field);
  const title = heading === undefined ? "" : (fields.get(heading) ?? "");
  return textUnder(title, fields.get(field) ?? "");
}

function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw unreadable(`has no JSON in line ${number}; write one record a line`, cause);
  }
}
