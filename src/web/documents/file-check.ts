/** What is known of a file before it is sent: whether it can be, and its name; and how things are counted. */
import { byteSize } from "../../core/byte-size.ts";

/** Why a file need not be sent, as a sentence; undefined where it can be. */
export function refusalOf(
  { size }: { size: number },
  maxFileBytes: number | undefined,
): string | undefined {
  if (size === 0) return "It is empty: there is nothing to read in it.";
  if (maxFileBytes !== undefined && size > maxFileBytes) {
    return `It has ${byteSize(size)}, and this node takes files of at most ${byteSize(maxFileBytes)}.`;
  }
  return undefined;
}

const longestName = 200;

/**
 * Without characters that cannot be seen, which the node refuses in names, and no longer than it
 * takes; the ending stays, since it says what the file is.
 */
export function sentName(name: string): string {
  const seen = name
    .toWellFormed()
    .normalize("NFC")
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "")
    // A browser writes it as %22 into a form.
    .replaceAll('"', "'")
    .trim();
  if (seen === "" || seen === "." || seen === "..") return "document";
  if (seen.length <= longestName) return seen;
  const ending = /\.[^.]{1,16}$/u.exec(seen)?.[0] ?? "";
  return `${seen.slice(0, longestName - ending.length).toWellFormed()}${ending}`;
}

export const counted = (count: number, thing: string): string =>
  `${count} ${thing}${count === 1 ? "" : "s"}`;
