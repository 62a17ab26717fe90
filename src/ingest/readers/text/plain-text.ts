/** Reads plain text and Markdown; of front matter, only the title stays, as a heading. */
import { isHeading, lexBlocks } from "../../blocks.ts";
import type { ReadText } from "../read.ts";
import { decodeText } from "./encoding.ts";
import { heading } from "./markdown.ts";

export const readPlainText = (bytes: Uint8Array): ReadText => unlessBlank(decodeText(bytes));

export const readMarkdown = (bytes: Uint8Array): ReadText =>
  unlessBlank(withoutFrontMatter(decodeText(bytes)));

const unlessBlank = (text: string): ReadText => (text.trim() === "" ? [] : [text]);

/** The page without its front matter, under the title that stood there if it has no heading of level 1. */
export function withoutFrontMatter(markdown: string): string {
  const [whole, yaml] =
    /^---[ \t]*\r?\n(.*?\r?\n)??(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/s.exec(markdown) ?? [];
  // A page may also begin with a thematic break, which is the same three dashes.
  if (
    whole === undefined ||
    (yaml !== undefined && !/^\s*(?:#[^\n]*\n\s*)*[^\s#:-][^\n:]*:/.test(yaml))
  ) {
    return markdown;
  }
  const page = markdown.slice(whole.length);
  const title = titleOf(yaml ?? "");
  if (title === undefined) return page;
  const tokens = lexBlocks(page.replace(/\r\n?/g, "\n"));
  const hasTopHeading = tokens.some((token) => isHeading(token) && token.depth === 1);
  return hasTopHeading ? page : `${heading(1, title)}\n\n${page}`;
}

function titleOf(yaml: string): string | undefined {
  try {
    const settings: unknown = Bun.YAML.parse(yaml);
    if (typeof settings !== "object" || settings === null) return undefined;
    const title: unknown = Reflect.get(settings, "title");
    return typeof title === "string" && title.trim() !== "" ? title : undefined;
  } catch {
    return undefined; // Front matter that is not valid YAML has no title.
  }
}
