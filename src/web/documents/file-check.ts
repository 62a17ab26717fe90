/** Checks a file before its upload, and prepares its name. */
import { byteSize } from "../../core/byte-size.ts";

/** Why a file cannot be uploaded, as a sentence; undefined if it can. */
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
 * Removes invisible characters, which the node rejects in names, and shortens the name to its
 * limit. The extension stays, since it gives the format.
 */
export function sentName(name: string): string {
  const seen = name
    .toWellFormed()
    .normalize("NFC")
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "")
    // Browsers would send it as %22 in a form.
    .replaceAll('"', "'")
    .trim();
  if (seen === "" || seen === "." || seen === "..") return "document";
  if (seen.length <= longestName) return seen;
  const ending = /\.[^.]{1,16}$/u.exec(seen)?.[0] ?? "";
  return `${seen.slice(0, longestName - ending.length).toWellFormed()}${ending}`;
}

export const counted = (count: number, thing: string): string =>
  `${count} ${thing}${count === 1 ? "" : "s"}`;
