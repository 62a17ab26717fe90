/** What a number in a sheet stands for, by its number format: Excel keeps dates and percentages as plain numbers. */
import { parseXml } from "./xml.ts";

export type NumberKind = "number" | "percent" | "date" | "time" | "moment" | "duration";

/** Formats that every workbook has, by their ids. */
const builtIn = new Map<number, NumberKind>([
  [9, "percent"],
  [10, "percent"],
  ...range(14, 17, "date"),
  ...range(18, 21, "time"),
  [22, "moment"],
  // Dates of eastern Asia.
  ...range(27, 31, "date"),
  ...range(32, 35, "time"),
  [36, "date"],
  [45, "duration"],
  [46, "duration"],
  [47, "duration"],
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
