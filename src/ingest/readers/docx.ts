/** Word documents: headings, lists and tables by their styles, without images. */
import mammoth from "mammoth";
import { boundedParts } from "./docx-parts.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";
import type { ReadLimits } from "./limits.ts";
import { damaged, refuseOldOffice } from "./office-file.ts";
import type { ReadOptions, ReadText } from "./read.ts";

export async function readDocx(bytes: Uint8Array, { limits }: ReadOptions): Promise<ReadText> {
  const markdown = htmlToMarkdown(await toHtml(bytes, limits), limits);
  return markdown === "" ? [] : [markdown];
}

async function toHtml(bytes: Uint8Array, limits: ReadLimits): Promise<string> {
  refuseOldOffice(bytes, "docx");
  try {
    const buffer = await boundedParts(bytes, limits);
    const { value } = await mammoth.convertToHtml({ buffer }, { styleMap, convertImage });
    return withoutBackLinks(value);
  } catch (cause) {
    throw damaged(cause, "docx");
  }
}

/** Notes end in a link back to their number. */
const withoutBackLinks = (html: string): string =>
  html
    .split(/<a href="#[^"]*">↑<\/a>/)
    .map((part, index, { length }) => (index === length - 1 ? part : part.trimEnd()))
    .join("");

const styleMap = ["p[style-name='Title'] => h1:fresh"];
const convertImage = mammoth.images.imgElement(async () => ({ src: "" }));
