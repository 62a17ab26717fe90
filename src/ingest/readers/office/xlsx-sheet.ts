/** Reads the non-empty rows of a sheet. Missing cells take no memory, however far out the next one is. */
import { beyond, type ReadLimits } from "../limits.ts";
import { oneLine } from "../text/markdown.ts";
import { parseXml } from "./package.ts";

export interface SheetCell {
  /** From 1. */
  column: number;
  text: string;
  /** Whether it is a word and no number, date or truth value. */
  isWord: boolean;
}

export interface SheetRow {
  /** From 1. */
  number: number;
  cells: SheetCell[];
}

export interface Workbook {
  strings: readonly string[];
  kinds: readonly NumberKind[];
  calendar: 1900 | 1904;
  limits: ReadLimits;
}

export function parseSheet(xml: Uint8Array, book: Workbook): SheetRow[] {
  const rows: SheetRow[] = [];
  const merges: string[] = [];
  let row: SheetRow = { number: 0, cells: [] };
  let column = 0;
  let cell: RawCell | undefined;
  let isAid = false;
  parseXml(xml, {
    open: (name, attributes) => {
      if (name === "row") {
        row = { number: numberOf(attributes.r) ?? row.number + 1, cells: [] };
        column = 0;
      } else if (name === "c") {
        column = columnOf(attributes.r) ?? column + 1;
        const { t: type = "n", s = "0" } = attributes;
        cell = { type, style: Number(s), text: "", formula: "" };
      } else if (name === "rPh") isAid = true;
      else if (name === "mergeCell" && attributes.ref !== undefined) merges.push(attributes.ref);
    },
    close: (name, text) => {
      if (name === "row") {
        if (row.cells.length > 0) rows.push(row);
        if (rows.length > book.limits.max_records) throw beyond("max_records", book.limits);
      } else if (cell === undefined) {
        return;
      } else if (name === "rPh") isAid = false;
      else if (name === "v" || (name === "t" && !isAid)) cell.text += text;
      else if (name === "f") cell.formula = text;
      else if (name === "c") {
        const shown = cellText(cell, book);
        const isWord = wordTypes.includes(cell.type);
        if (shown !== "") row.cells.push({ column, text: shown, isWord });
        cell = undefined;
      }
    },
  });
  rows.sort((a, b) => a.number - b.number);
  fillMerged(rows, merges);
  return rows;
}

interface RawCell {
  type: string;
  style: number;
  text: string;
  formula: string;
}

const wordTypes = ["s", "inlineStr", "str"];

function cellText({ type, style, text, formula }: RawCell, book: Workbook): string {
  switch (type) {
    case "s":
      return book.strings[Number(text)] ?? "";
    case "inlineStr":
    case "str":
      return oneLine(text);
    case "b":
      return text === "" ? "" : text.trim() === "1" ? "TRUE" : "FALSE";
    case "d":
      return text.trim().replace(/T00:00:00(?:\.0+)?Z?$/, "");
    case "e":
      return text.trim();
    default:
      // A formula that was never computed has no value to show.
      if (text === "" && formula !== "") return `=${oneLine(formula)}`;
      return numberText(text, book.kinds[style] ?? "number", book.calendar);
  }
}

const numberOf = (written: string | undefined): number | undefined => {
  const number = Number.parseInt(written ?? "", 10);
  return number > 0 ? number : undefined;
};

/** `BC12` is in column 55. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^\$?([A-Za-z]{1,3})/.exec(reference ?? "")?.[1]?.toUpperCase();
  if (letters === undefined) return undefined;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
}

/** Cells that are looked at to fill some from above; real sheets have some hundred of those. */
const mostSteps = 20_000_000;

/** A cell over several rows says its text in each of them that holds something. */
function fillMerged(rows: readonly SheetRow[], merges: readonly string[]): void {
  let steps = 0;
  const at = new Map(rows.map(({ number }, index) => [number, index]));
  for (const reference of merges) {
    const [from = "", to = ""] = reference.split(":");
    const [first, last] = [from, to].map((corner) => numberOf(/\d+/.exec(corner)?.[0]));
    const column = columnOf(from);
    const start = at.get(first ?? 0);
    if (start === undefined || last === undefined || column === undefined) continue;
    steps += rows[start]?.cells.length ?? 0;
    if (steps > mostSteps) return;
    const top = rows[start]?.cells.find((cell) => cell.column === column);
    for (let index = start + 1; top !== undefined && index < rows.length; index += 1) {
      const row = rows[index];
      if (row === undefined || row.number > last) break;
      steps += 1 + row.cells.length;
      if (steps > mostSteps) return;
      if (row.cells.some((cell) => cell.column === column)) continue;
      row.cells.push({ ...top });
      row.cells.sort((a, b) => a.column - b.column);
    }
  }
}

/** What a number in a sheet stands for, by its number format: Excel keeps dates and percentages as plain numbers. */
export type NumberKind = "number" | "percent" | "date" | "time" | "moment" | "duration";

/** Formats that every workbook has, by their ids. */
const builtIn = new Map<number, NumberKind>([
  ...range(9, 10, "percent"),
  ...range(14, 17, "date"),
  ...range(18, 21, "time"),
  [22, "moment"],
  // Dates of eastern Asia.
  ...range(27, 31, "date"),
  ...range(32, 35, "time"),
  [36, "date"],
  ...range(45, 47, "duration"),
  ...range(50, 58, "date"),
]);

function range(first: number, last: number, kind: NumberKind): [number, NumberKind][] {
  return Array.from({ length: last - first + 1 }, (_, index) => [first + index, kind]);
}

/** A format's kind by its code, such as `yyyy\-mm\-dd` or `0.0%`. */
export function kindOfCode(code: string): NumberKind {
  // What is quoted, escaped, or a colour, a condition or a language, is no placeholder; sections after the first are for other signs.
  const plain = code
    .slice(0, 255)
    .replace(/"[^"]*"|\\.|_.|\*./g, "")
    .replace(/\[(?!(?:h+|m+|s+)\])[^\]]*\]/gi, "")
    .split(";", 1)
    .join("")
    .toLowerCase();
  if (/\[(?:h+|m+|s+)\]/.test(plain)) return "duration";
  if (/general/.test(plain)) return "number";
  const hasTime = /h|s|am\/pm/.test(plain);
  const hasDate = /y|d/.test(plain) || (plain.includes("m") && !hasTime);
  if (hasDate || hasTime) return hasDate ? (hasTime ? "moment" : "date") : "time";
  return plain.includes("%") ? "percent" : "number";
}

/** The kinds of the cells' styles, in their order. */
export function parseStyles(xml: Uint8Array | undefined): NumberKind[] {
  const kinds: NumberKind[] = [];
  if (xml === undefined) return kinds;
  const own = new Map<number, NumberKind>();
  let isInCells = false;
  parseXml(xml, {
    open: (name, attributes) => {
      const id = Number(attributes.numFmtId);
      if (name === "numFmt") own.set(id, kindOfCode(attributes.formatCode ?? ""));
      else if (name === "cellXfs") isInCells = true;
      else if (name === "xf" && isInCells) kinds.push(own.get(id) ?? builtIn.get(id) ?? "number");
    },
    close: (name) => {
      if (name === "cellXfs") isInCells = false;
    },
  });
  return kinds;
}

const day = 86_400_000;
/** Day 0 of the two calendars. In the first, 1900 is a leap year: days before its 1 March are one off. */
const epochs = { 1900: Date.UTC(1899, 11, 30), 1904: Date.UTC(1904, 0, 1) };
const lastOfFebruary1900 = 60;

/** A number as a person would write it. */
export function numberText(written: string, kind: NumberKind, calendar: 1900 | 1904): string {
  const value = Number(written);
  if (!Number.isFinite(value) || written.trim() === "") return written.trim();
  if (kind === "percent") return `${decimal(value * 100)}%`;
  if (kind === "number" || value < 0) return decimal(value);
  const seconds = Math.round(value * 86_400);
  if (kind === "duration") return clock(seconds);
  const shift = calendar === 1900 && value < lastOfFebruary1900 ? day : 0;
  const date = new Date(epochs[calendar] + shift + seconds * 1000);
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999) return decimal(value);
  const iso = date.toISOString();
  if (kind === "time" && value < 1) return clock(seconds);
  const isMidnight = seconds % 86_400 === 0;
  return kind === "date" || isMidnight
    ? iso.slice(0, 10)
    : iso.slice(0, 19).replace("T", " ").replace(/:00$/, "");
}

/** Excel itself shows 15 digits; what follows comes from computing in binary. */
const decimal = (value: number): string => String(Number(value.toPrecision(15)));

function clock(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const rest = seconds % 60;
  const minutes = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}`;
  return rest === 0 ? minutes : `${minutes}:${two(rest)}`;
}
