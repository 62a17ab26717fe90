/** Reads plain text and Markdown: UTF-8, UTF-16 with a byte order mark, a declared encoding, or Windows-1252. */
import { TextDecoder } from "node:util";
import { isHeading, lexBlocks } from "../../blocks.ts";
import { unreadable } from "../limits.ts";
import type { ReadText } from "../read.ts";
import { heading } from "./markdown.ts";

export const readPlainText = (bytes: Uint8Array): ReadText => unlessBlank(decodeText(bytes));

export const readMarkdown = (bytes: Uint8Array): ReadText =>
  unlessBlank(withoutFrontMatter(decodeText(bytes)));

const unlessBlank = (text: string): ReadText => (text.trim() === "" ? [] : [text]);

/** The page without its front matter, under the title that stood there if it has no heading of level 1. */
export function withoutFrontMatter(markdown: string): string {
  const [whole, yaml] =
    /^---[ \t]*\r?\n(.*?\r?\n)??(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/s.exec(markdown) ?? [];
  // A page may also begin with a thematic break, which is the same three dashes.
  if (
    whole === undefined ||
    (yaml !== undefined && !/^\s*(?:#[^\n]*\n\s*)*[^\s#:-][^\n:]*:/.test(yaml))
  ) {
    return markdown;
  }
  const page = markdown.slice(whole.length);
  const title = titleOf(yaml ?? "");
  if (title === undefined) return page;
  const tokens = lexBlocks(page.replace(/\r\n?/g, "\n"));
  const hasTopHeading = tokens.some((token) => isHeading(token) && token.depth === 1);
  return hasTopHeading ? page : `${heading(1, title)}\n\n${page}`;
}

function titleOf(yaml: string): string | undefined {
  try {
    const settings: unknown = Bun.YAML.parse(yaml);
    if (typeof settings !== "object" || settings === null) return undefined;
    const title: unknown = Reflect.get(settings, "title");
    return typeof title === "string" && title.trim() !== "" ? title : undefined;
  } catch {
    return undefined; // Front matter that is not valid YAML has no title.
  }
}

/** The text of the bytes; a byte order mark outweighs the encoding that is named. */
export function decodeText(bytes: Uint8Array, named?: string): string {
  const encoding = markedEncoding(bytes) ?? named ?? "utf-8";
  const text = decode(bytes, encoding, named);
  if (text.includes("\0")) throw unreadable("is not UTF-8 text");
  return text;
}

function decode(bytes: Uint8Array, encoding: string, named: string | undefined): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    const isNamed = encoding === named;
    if (!isNamed && encoding === "utf-8" && isWindows1252(bytes)) {
      return new TextDecoder("windows-1252").decode(bytes);
    }
    const why = isNamed
      ? `is not text in '${named}', the encoding that it names`
      : "is not UTF-8 text";
    throw unreadable(`${why}; save it as UTF-8`, cause);
  }
}

export function markedEncoding([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return undefined;
}

/** Where browsers look for a page's encoding. */
const prescanned = 1024;

export function namedEncoding(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, prescanned));
  const name =
    /<meta\b[^>]*?\bcharset\s*=\s*["']?\s*([\w:.-]+)/i.exec(start)?.[1] ??
    /^\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([\w:.-]+)/i.exec(start)?.[1];
  // If the name could be read as ASCII, the page is not UTF-16, whatever it claims.
  return name === undefined || /^utf-?16/i.test(name) ? undefined : name.toLowerCase();
}

/** Of all letters, at most so many are no ASCII; in Cyrillic or Chinese nearly all are. */
const mostForeign = 1 / 3;

/** Bytes that Windows-1252 does not have. */
const unused = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);
/** Tab, line feed, form feed, carriage return. */
const usedControls = new Set([0x09, 0x0a, 0x0c, 0x0d]);

/**
 * Whether bytes are western text: no control characters, most letters in ASCII, and more bytes that
 * cannot be UTF-8 than characters that are, so that a damaged text in UTF-8 is not read as something else.
 */
function isWindows1252(bytes: Uint8Array): boolean {
  let letters = 0;
  let foreign = 0;
  let stray = 0;
  let unicode = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) {
      if ((byte < 0x20 && !usedControls.has(byte)) || byte === 0x7f) return false;
      const lower = byte | 0x20;
      if (lower >= 0x61 && lower <= 0x7a) letters += 1;
      continue;
    }
    const length = sequenceLength(bytes, at);
    if (length === undefined) {
      if (unused.has(byte)) return false;
      foreign += 1;
      stray += 1;
    } else {
      foreign += length;
      unicode += 1;
      at += length - 1;
    }
  }
  return stray > unicode && foreign <= mostForeign * (letters + foreign);
}

/** Bytes of the character that begins here in UTF-8, also if the file ends within it; undefined where none does. */
function sequenceLength(bytes: Uint8Array, at: number): number | undefined {
  const first = bytes[at] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return undefined;
  for (let next = 1; next < length && at + next < bytes.length; next += 1) {
    const isContinuation = ((bytes[at + next] ?? 0) & 0xc0) === 0x80;
    if (!isContinuation) return undefined;
  }
  return length;
}
