/** JSON records, one a line: a text for each. */
import { beyond } from "./limits.ts";
import type { ReadOptions, ReadText } from "./read.ts";
import { recordText, textFieldOf } from "./record.ts";
import { decodeText } from "./text-encoding.ts";
import { unreadable } from "./unreadable.ts";

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
  const choice = { wanted: textField, called: "text field", where };
  return recordText(fields, textFieldOf([...fields.keys()], choice));
}

function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw unreadable(`has no JSON in line ${number}; write one record a line`, cause);
  }
}
