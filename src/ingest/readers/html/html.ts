/** Converts HTML to Markdown: headings, paragraphs, lists, tables, quotations and code, without links and emphasis. */
import type { ReadLimits } from "../limits.ts";
import type { ReadOptions, ReadText } from "../read.ts";
import {
  escapeMarkers,
  fence,
  heading,
  longestRun,
  mostCells,
  oneLine,
  pipeTable,
} from "../text/markdown.ts";
import { decodeText, namedEncoding } from "../text/plain-text.ts";
import { type HtmlElement, type HtmlNode, headingTags, hiddenTags, parseHtml } from "./parse.ts";

export function readHtml(bytes: Uint8Array, { limits }: ReadOptions): ReadText {
  const markdown = htmlToMarkdown(asHtml(decodeText(bytes, namedEncoding(bytes))), limits);
  return markdown === "" ? [] : [markdown];
}

/** Characters in which an XHTML page declares itself. */
const prescanned = 1024;

/** In XML any element can be self-closing. HTML ignores that, and would take the rest of the page for the content of these. */
const asHtml = (page: string): string =>
  /^\s*<\?xml\b|\bxmlns\s*=/.test(page.slice(0, prescanned))
    ? page.replace(/<(script|style|title|textarea|iframe|noscript)\b([^<>]*)\/>/gi, "<$1$2></$1>")
    : page;

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
  if (headingTags.includes(element.tag)) {
    // Generated pages begin or end a heading with a link to itself, `§` or `¶`.
    const text = lineText(element.children).replace(/^§(?=\p{L})|\s*¶$/gu, "");
    return text === "" ? [] : [heading(Number(element.tag.slice(1)), text)];
  }
  switch (element.tag) {
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
    const text = [start, ...rest.map((block) => `${isList(block) ? "\n" : "\n\n"}${block}`)].join(
      "",
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

/** A table that contains headings, code or tables is for layout, and read as blocks. */
function tableOf(table: HtmlElement, depth: number): string[] {
  const isLayout = holds(table, ["table", "pre", ...headingTags]);
  const grid = isLayout ? undefined : gridOf(rowsOf(table));
  // No table of one column or less, or of too many cells.
  const pipes = grid && pipeTable(grid);
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

/** Larger spans are a mistake or an attack, and shortened to these. */
const mostColumns = 20;
const mostRows = 200;
/** Characters that cells over several rows may repeat in a table; beyond it, the cells below stay blank. */
const mostRepeated = 500_000;

function rowsOf(element: HtmlElement): HtmlElement[] {
  return element.children.flatMap((child) => {
    if (typeof child === "string") return [];
    if (child.tag === "tr") return [child];
    return ["thead", "tbody", "tfoot"].includes(child.tag) ? rowsOf(child) : [];
  });
}

/** The cells' texts by row and column; a cell over several rows says its text in each of them. */
function gridOf(rows: readonly HtmlElement[]): string[][] | undefined {
  let reaching = new Map<number, { text: string; rows: number }>();
  let count = 0;
  let repeated = 0;
  const grid: string[][] = [];
  for (const row of rows) {
    const cells: string[] = [];
    const next = new Map<number, { text: string; rows: number }>();
    const fillFromAbove = (): void => {
      for (let above = reaching.get(cells.length); above; above = reaching.get(cells.length)) {
        if (above.rows > 1) next.set(cells.length, { text: above.text, rows: above.rows - 1 });
        repeated += above.text.length;
        cells.push(repeated > mostRepeated ? "" : above.text);
      }
    };
    for (const cell of row.children) {
      if (typeof cell === "string" || (cell.tag !== "td" && cell.tag !== "th")) continue;
      fillFromAbove();
      const text = lineText(cell.children).replaceAll("|", "\\|");
      const down = spanOf(cell.attributes.rowspan, mostRows);
      const across = spanOf(cell.attributes.colspan, mostColumns);
      for (let column = 0; column < across; column += 1) {
        if (down > 1) next.set(cells.length, { text: column === 0 ? text : "", rows: down - 1 });
        cells.push(column === 0 ? text : "");
      }
    }
    fillFromAbove();
    reaching = next;
    count += cells.length;
    if (count > mostCells) return undefined;
    grid.push(cells);
  }
  return grid;
}

function spanOf(written: string | undefined, most: number): number {
  const span = Number.parseInt(written ?? "1", 10);
  return span > 1 ? Math.min(span, most) : 1;
}

function inlineText(nodes: readonly HtmlNode[]): string {
  const text = nodes.map((node) => {
    if (typeof node === "string") return collapse(decodeEntities(node));
    return node.tag === "br" ? "\n" : inlineCode(node);
  });
  // Runs of spaces go first: the next expression would be quadratic on them.
  const lines = text
    .join("")
    .replace(/ +/g, " ")
    .replace(/ ?\n ?/g, "\n");
  return lines.replace(/\n{3,}/g, "\n\n").trim();
}

/** All text of the nodes in one line, whatever blocks they are. */
const lineText = (nodes: readonly HtmlNode[]): string => oneLine(words(nodes));

function words(nodes: readonly HtmlNode[]): string {
  const text = nodes.map((node) => {
    if (typeof node === "string") return collapse(decodeEntities(node));
    if (hiddenTags.has(node.tag)) return "";
    return node.tag === "code" ? inlineCode(node) : ` ${words(node.children)} `;
  });
  return text.join("");
}

const collapse = (text: string): string =>
  text.replace(/[\u00ad\u200b\ufeff]/g, "").replace(/\s+/g, " ");

function inlineCode(element: HtmlElement): string {
  const code = oneLine(rawText(element.children));
  if (code === "") return "";
  const sign = "`".repeat(longestRun(code) + 1);
  return sign.length > 1 ? `${sign} ${code} ${sign}` : `\`${code}\``;
}

function codeFence(pre: HtmlElement): string[] {
  const code = rawText(pre.children).replaceAll("\r\n", "\n").replace(/^\n/, "").trimEnd();
  if (code.trim() === "") return [];
  const classes = [pre, ...pre.children].map((node) =>
    typeof node === "string" ? "" : (node.attributes.class ?? ""),
  );
  const language = /(?:^|\s)lang(?:uage)?-(\S+)/.exec(classes.join(" "))?.[1] ?? "";
  return [fence(code, language)];
}

/** The text with its white space, as in a `pre`. */
function rawText(nodes: readonly HtmlNode[]): string {
  // Pieces: to look at the end of a growing text would copy all of it each time.
  const pieces: string[] = [];
  const add = (piece: string): void => {
    if (piece !== "") pieces.push(piece);
  };
  const endLine = (): void => {
    if (pieces.at(-1)?.endsWith("\n") === false) pieces.push("\n");
  };
  for (const node of nodes) {
    if (typeof node === "string") add(decodeEntities(node));
    else if (node.tag === "br") add("\n");
    else if (node.tag === "code") add(rawText(node.children));
    else if (!hiddenTags.has(node.tag)) {
      // A block begins and ends a line.
      endLine();
      add(rawText(node.children));
      endLine();
    }
  }
  return pieces.join("");
}

const decodeEntities = (text: string): string =>
  text.replace(
    /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]*);|&(?:amp|lt|gt|quot|nbsp|copy|reg)\b/gi,
    (entity) => {
      const code = /^&#(1[2-5]\d);$/.exec(entity)?.[1];
      // 128 to 159 are control characters in Unicode; browsers read them as windows-1252, and so do we.
      if (code !== undefined && Number(code) >= 128)
        return windows.decode(Uint8Array.of(Number(code)));
      return Bun.markdown.render(entity.endsWith(";") ? entity : `${entity};`);
    },
  );

const windows = new TextDecoder("windows-1252");
