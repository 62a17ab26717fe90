/** Plain text as Markdown: a backslash before what would be read as a heading or a fence. */

export const heading = (level: number, text: string): string =>
  `${"#".repeat(level)} ${oneLine(text)}`;

export const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

export const escapeMarkers = (text: string): string =>
  text.replace(/^(#{1,6}\s|```|~~~)/gm, "\\$1");
