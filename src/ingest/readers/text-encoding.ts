/** Bytes to text: UTF-8, UTF-16 with a byte order mark, an encoding that the file itself names, or Windows-1252. */
import { TextDecoder } from "node:util";
import { unreadable } from "./unreadable.ts";
import { isWestern } from "./western-text.ts";

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
    if (!isNamed && encoding === "utf-8" && isWestern(bytes)) {
      return new TextDecoder("windows-1252").decode(bytes);
    }
    const why = isNamed
      ? `is not text in '${named}', the encoding that it names`
      : "is not UTF-8 text";
    throw unreadable(`${why}; save it as UTF-8`, cause);
  }
}

/** The encoding that a byte order mark stands for. */
export function markedEncoding([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return undefined;
}

/** Where browsers look for a page's encoding. */
const prescanned = 1024;

/** The encoding that HTML or XML names in its first lines. */
export function namedEncoding(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, prescanned));
  const name =
    /<meta\b[^>]*?\bcharset\s*=\s*["']?\s*([\w:.-]+)/i.exec(start)?.[1] ??
    /^\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([\w:.-]+)/i.exec(start)?.[1];
  // If the name could be read as ASCII, the page is not UTF-16, whatever it claims.
  return name === undefined || /^utf-?16/i.test(name) ? undefined : name.toLowerCase();
}
