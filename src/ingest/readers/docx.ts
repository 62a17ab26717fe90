/** Word documents: headings, lists and tables by their styles, without images. */
import mammoth from "mammoth";
import { NodeError } from "../../core/errors.ts";
import { boundedParts } from "./docx-parts.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";
import type { ReadLimits } from "./limits.ts";
import type { ReadOptions, ReadText } from "./read.ts";
import { unreadable } from "./unreadable.ts";

export async function readDocx(bytes: Uint8Array, { limits }: ReadOptions): Promise<ReadText> {
  const markdown = htmlToMarkdown(await toHtml(bytes, limits), limits);
  return markdown === "" ? [] : [markdown];
}

async function toHtml(bytes: Uint8Array, limits: ReadLimits): Promise<string> {
  if (isOldOffice(bytes)) {
    throw unreadable("is encrypted or in the old .doc format; save it as .docx without a password");
  }
  try {
    const buffer = await boundedParts(bytes, limits);
    const { value } = await mammoth.convertToHtml({ buffer }, { styleMap, convertImage });
    return withoutBackLinks(value);
  } catch (cause) {
    if (cause instanceof NodeError) throw cause;
    throw unreadable(
      "is damaged or not a Word document; open it in Word and save it again as .docx",
      cause,
    );
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

/** Office wraps encrypted files in the container of its old formats. */
const isOldOffice = (bytes: Uint8Array): boolean =>
  [0xd0, 0xcf, 0x11, 0xe0].every((byte, index) => bytes[index] === byte);
