/** HTML pages, in UTF-8, UTF-16 with a byte order mark, or the encoding that they name. */
import { htmlToMarkdown } from "./html-to-markdown.ts";
import type { ReadOptions, ReadText } from "./read.ts";
import { decodeText, namedEncoding } from "./text-encoding.ts";

export function readHtml(bytes: Uint8Array, { limits }: ReadOptions): ReadText {
  const markdown = htmlToMarkdown(asHtml(decodeText(bytes, namedEncoding(bytes))), limits);
  return markdown === "" ? [] : [markdown];
}

/** Where an XHTML page says that it is one. */
const prescanned = 1024;

/** In XML any element can be self-closing. HTML ignores that, and would take the rest of the page for the content of these. */
const asHtml = (page: string): string =>
  /^\s*<\?xml\b|\bxmlns\s*=/.test(page.slice(0, prescanned))
    ? page.replace(/<(script|style|title|textarea|iframe|noscript)\b([^<>]*)\/>/gi, "<$1$2></$1>")
    : page;
