/** HTML to Markdown: headings, paragraphs, lists, tables, quotations and code, without addresses and emphasis. */
import { codeFence } from "./html-code.ts";
import { htmlTable } from "./html-table.ts";
import { headingTags, hiddenTags } from "./html-tags.ts";
import { inlineText, lineText } from "./html-text.ts";
import { type HtmlElement, type HtmlNode, parseHtml } from "./html-tree.ts";
import type { ReadLimits } from "./limits.ts";
import { escapeMarkers, heading } from "./markdown.ts";

/** The page as Markdown, under its title if it has no heading of level 1. */
export function htmlToMarkdown(html: string, limits: ReadLimits): string {
  const { title, body } = parseHtml(html, limits);
  const blocks = toBlocks(body.children);
  const name = title === undefined ? "" : lineText(title.children);
  const isNamed = name === "" || blocks.some((block) => block.startsWith("# "));
  return (isNamed ? blocks : [heading(1, name), ...blocks]).join("\n\n");
}

/** Lists and quotations within each other; deeper ones are not indented further, since every line repeats the indentation. */
const deepest = 16;

function toBlocks(nodes: readonly HtmlNode[], depth = 0): string[] {
  const blocks: string[] = [];
  let inline: HtmlNode[] = [];
  const flush = (): void => {
    const paragraph = escapeMarkers(inlineText(inline));
    if (paragraph !== "") blocks.push(paragraph);
    inline = [];
  };
  for (const node of nodes) {
    if (typeof node === "string" || node.tag === "br" || node.tag === "code") {
      inline.push(node);
    } else if (!hiddenTags.has(node.tag)) {
      flush();
      for (const block of blocksOf(node, depth)) blocks.push(block);
    }
  }
  flush();
  return blocks;
}

function blocksOf(element: HtmlElement, depth: number): string[] {
  switch (element.tag) {
    case "h1":
    case "h2":
    case "h3":
    case "h4":
    case "h5":
    case "h6": {
      // Generated pages begin or end a heading with a link to itself, `§` or `¶`.
      const text = lineText(element.children).replace(/^§(?=\p{L})|\s*¶$/gu, "");
      return text === "" ? [] : [heading(Number(element.tag.slice(1)), text)];
    }
    case "ul":
    case "ol":
    case "menu":
      return depth === deepest || holds(element, headingTags)
        ? toBlocks(element.children, depth)
        : listOf(element, depth + 1);
    case "dl":
      return definitionsOf(element, depth);
    case "pre":
      return codeFence(element);
    case "blockquote": {
      if (depth === deepest) return toBlocks(element.children, depth);
      const quoted = toBlocks(element.children, depth + 1).join("\n\n");
      return quoted === "" ? [] : [quotation(quoted)];
    }
    case "table":
      return tableOf(element, depth);
    default:
      return toBlocks(element.children, depth);
  }
}

function listOf({ tag, attributes, children }: HtmlElement, depth: number): string[] {
  const items: string[] = [];
  const first = Number.parseInt(attributes.start ?? "1", 10);
  for (const child of children) {
    const isItem = typeof child !== "string" && child.tag === "li";
    const blocks = toBlocks(isItem ? child.children : [child], depth);
    const [start, ...rest] = blocks;
    if (start === undefined) continue;
    // No empty line before a nested list; a list directly in a list, in no item, belongs to the item before it.
    const text = rest.reduce(
      (all, block) => `${all}${isList(block) ? "\n" : "\n\n"}${block}`,
      start,
    );
    const number = (Number.isNaN(first) ? 1 : first) + items.length;
    const marker = tag === "ol" ? `${number}. ` : "- ";
    if (!isItem && isList(text) && items.length > 0) {
      items.push(`${items.pop() ?? ""}\n${indented(text, marker.length)}`);
    } else items.push(hung(marker, text));
  }
  return items.length === 0 ? [] : [items.join("\n")];
}

/** Terms above their definitions: in one block where all are short, else as blocks of their own. */
function definitionsOf(list: HtmlElement, depth: number): string[] {
  const entries = list.children.flatMap((child) =>
    typeof child !== "string" && child.tag === "div" ? child.children : [child],
  );
  const blocks: string[] = [];
  for (const entry of entries) {
    const [first, ...rest] = toBlocks([entry], depth);
    if (first === undefined) continue;
    const isShort = rest.length === 0 && !first.includes("\n");
    if (typeof entry !== "string" && entry.tag === "dd" && isShort && blocks.length > 0) {
      blocks.push(`${blocks.pop() ?? ""}\n: ${first}`);
    } else for (const block of [first, ...rest]) blocks.push(block);
  }
  return blocks;
}

/** A table that holds headings, code or tables is there for layout, and read as blocks. */
function tableOf(table: HtmlElement, depth: number): string[] {
  const pipes = holds(table, ["table", "pre", ...headingTags]) ? undefined : htmlTable(table);
  if (pipes === undefined) return toBlocks(table.children, depth);
  const captions = table.children.filter(
    (child) => typeof child !== "string" && child.tag === "caption",
  );
  return [...toBlocks(captions, depth), pipes];
}

const holds = (element: HtmlElement, tags: readonly string[]): boolean =>
  element.children.some(
    (child) => typeof child !== "string" && (tags.includes(child.tag) || holds(child, tags)),
  );

const isList = (block: string): boolean => /^(?:-|\d+\.) /.test(block);

/** The marker with the text indented behind it; a fence begins on the next line. */
const hung = (marker: string, text: string): string =>
  text.startsWith("```")
    ? `${marker.trimEnd()}\n${indented(text, marker.length)}`
    : `${marker}${indented(text, marker.length).trimStart()}`;

const quotation = (text: string): string =>
  text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");

const indented = (text: string, width: number): string =>
  text.replace(/^(?=.)/gm, " ".repeat(width));
