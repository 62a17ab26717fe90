/** Text as Markdown that means the text: what looks like a heading or a fence but is none gets a backslash. */

export const heading = (level: number, text: string): string =>
  `${"#".repeat(level)} ${oneLine(text)}`;

export const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

export const escapeMarkers = (text: string): string =>
  text.replace(/^(#{1,6}\s|```|~~~)/gm, "\\$1");
