/** Plain text and Markdown, which are passages as they are. */
import { withoutFrontMatter } from "./front-matter.ts";
import type { ReadText } from "./read.ts";
import { decodeText } from "./text-encoding.ts";

export const readPlainText = (bytes: Uint8Array): ReadText => unlessBlank(decodeText(bytes));

export const readMarkdown = (bytes: Uint8Array): ReadText =>
  unlessBlank(withoutFrontMatter(decodeText(bytes)));

const unlessBlank = (text: string): ReadText => (text.trim() === "" ? [] : [text]);
