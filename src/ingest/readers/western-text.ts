/** Whether bytes that are not UTF-8 are text of western Europe in Windows-1252, of which Latin-1 is a part. */

/** Of all letters, at most so many are no ASCII; in Cyrillic or Chinese nearly all are. */
const mostForeign = 1 / 3;

/** Bytes that Windows-1252 does not have. */
const unused = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);
/** Tab, line feed, form feed, carriage return. */
const usedControls = new Set([0x09, 0x0a, 0x0c, 0x0d]);

/**
 * It has no control characters, mostly ASCII letters, and more bytes that cannot be UTF-8 than
 * characters that are: a text in UTF-8 that is damaged or cut off is not read as something else.
 */
export function isWestern(bytes: Uint8Array): boolean {
  let letters = 0;
  let foreign = 0;
  let stray = 0;
  let unicode = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) {
      if ((byte < 0x20 && !usedControls.has(byte)) || byte === 0x7f) return false;
      if (isLetter(byte)) letters += 1;
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

const isLetter = (byte: number): boolean => {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
};

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

/** Bytes of the character that begins here in UTF-8, also if the file ends amid it; undefined where none does. */
function sequenceLength(bytes: Uint8Array, at: number): number | undefined {
  const first = bytes[at] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return undefined;
  for (let next = 1; next < length && at + next < bytes.length; next += 1) {
    if (!isContinuation(bytes[at + next] ?? 0)) return undefined;
  }
  return length;
}
