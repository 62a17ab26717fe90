/** HTML pages, in UTF-8, UTF-16 with a byte order mark, or the encoding that they name. */
import { htmlToMarkdown } from "./html-to-markdown.ts";
import type { ReadOptions, ReadText } from "./read.ts";
import { decodeText } from "./text-encoding.ts";

export function readHtml(bytes: Uint8Array, { limits }: ReadOptions): ReadText {
  const markdown = htmlToMarkdown(asHtml(decodeText(bytes, namedEncoding(bytes))), limits);
  return markdown === "" ? [] : [markdown];
}

/** Where browsers look for a page's encoding. */
const prescanned = 1024;

function namedEncoding(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, prescanned));
  const name =
    /<meta\b[^>]*?\bcharset\s*=\s*["']?\s*([\w:.-]+)/i.exec(start)?.[1] ??
    /^\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([\w:.-]+)/i.exec(start)?.[1];
  // If the name could be read as ASCII, the page is not UTF-16, whatever it claims.
  return name === undefined || /^utf-?16/i.test(name) ? undefined : name.toLowerCase();
}

/** In XML any element can be self-closing. HTML ignores that, and would take the rest of the page for the content of these. */
const asHtml = (page: string): string =>
  /^\s*<\?xml\b|\bxmlns\s*=/.test(page.slice(0, prescanned))
    ? page.replace(/<(script|style|title|textarea|iframe|noscript)\b([^<>]*)\/>/gi, "<$1$2></$1>")
    : page;
