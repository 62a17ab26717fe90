/** Bytes to text: UTF-8, UTF-16 with a byte order mark, or an encoding that the file itself names. */
import { TextDecoder } from "node:util";
import { unreadable } from "./unreadable.ts";

/** The text of the bytes; a byte order mark outweighs the encoding that is named. */
export function decodeText(bytes: Uint8Array, named?: string): string {
  const encoding = encodingOfMark(bytes) ?? named ?? "utf-8";
  const text = decode(bytes, encoding, named);
  if (text.includes("\0")) throw unreadable("is not UTF-8 text");
  return text;
}

function decode(bytes: Uint8Array, encoding: string, named: string | undefined): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    const why =
      encoding === named
        ? `is not text in '${named}', the encoding that it names`
        : "is not UTF-8 text";
    throw unreadable(`${why}; save it as UTF-8`, cause);
  }
}

function encodingOfMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return undefined;
}
