/** Reads Word documents: headings, lists and tables by their styles, without images. */
import JSZip from "jszip";
import mammoth from "mammoth";
import { htmlToMarkdown } from "../html/html.ts";
import type { ReadLimits } from "../limits.ts";
import type { ReadOptions, ReadText } from "../read.ts";
import { countElements, type ElementCount, officeParts } from "./package.ts";
import type { ZipParts } from "./zip.ts";

export async function readDocx(bytes: Uint8Array, { limits }: ReadOptions): Promise<ReadText> {
  const html = await officeParts(bytes, limits, "docx", async (parts) => {
    const buffer = await boundedParts(parts, limits);
    return (await mammoth.convertToHtml({ buffer }, { styleMap, convertImage })).value;
  });
  const markdown = htmlToMarkdown(withoutBackLinks(html), limits);
  return markdown === "" ? [] : [markdown];
}

/** Notes end with a link back to their number. */
const withoutBackLinks = (html: string): string =>
  html
    .split(/<a href="#[^"]*">↑<\/a>/)
    .map((part, index, { length }) => (index === length - 1 ? part : part.trimEnd()))
    .join("");

const styleMap = ["p[style-name='Title'] => h1:fresh"];
const convertImage = mammoth.images.imgElement(async () => ({ src: "" }));

/** The same file without pictures and compression: its elements are counted before mammoth builds trees of them. */
async function boundedParts(packed: ZipParts, limits: ReadLimits): Promise<Buffer> {
  const plain = new JSZip();
  const count: ElementCount = { elements: 0, limits };
  for (const name of packed.names) {
    if (!/\.(xml|rels)$/i.test(name)) continue;
    const content = packed.read(name);
    countElements(content, count);
    plain.file(name, content);
  }
  return await plain.generateAsync({ type: "nodebuffer", compression: "STORE" });
}
