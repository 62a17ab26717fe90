/** Text within a block of HTML: its white space and line breaks. */

import { fence, longestRun, oneLine } from "../text/markdown.ts";
import { type HtmlElement, type HtmlNode, hiddenTags } from "./parse.ts";

/** Text and line breaks of nodes that are all inline. */
export function inlineText(nodes: readonly HtmlNode[]): string {
  const text = nodes.map((node) => {
    if (typeof node === "string") return collapse(decodeEntities(node));
    return node.tag === "br" ? "\n" : inlineCode(node);
  });
  return (
    text
      .join("")
      // Runs of spaces go first: the next expression would be quadratic on them.
      .replace(/ +/g, " ")
      .replace(/ ?\n ?/g, "\n")
      .replace(/\n{3,}/g, "\n\n")
      .trim()
  );
}

/** All text of the nodes in one line, whatever blocks they are. */
export const lineText = (nodes: readonly HtmlNode[]): string => oneLine(words(nodes));

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

/** Code in HTML, as Markdown writes it: between backticks or in a fence. */

function inlineCode(element: HtmlElement): string {
  const code = oneLine(rawText(element.children));
  if (code === "") return "";
  const sign = "`".repeat(longestRun(code) + 1);
  return sign.length > 1 ? `${sign} ${code} ${sign}` : `\`${code}\``;
}

export function codeFence(pre: HtmlElement): string[] {
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
  let text = "";
  for (const node of nodes) {
    if (typeof node === "string") text += decodeEntities(node);
    else if (node.tag === "br") text += "\n";
    else if (node.tag === "code") text += rawText(node.children);
    else if (!hiddenTags.has(node.tag)) {
      // A block begins and ends a line.
      text = `${lineEnded(text)}${lineEnded(rawText(node.children))}`;
    }
  }
  return text;
}

const lineEnded = (text: string): string =>
  text === "" || text.endsWith("\n") ? text : `${text}\n`;

/** Characters that HTML writes by name or number. */

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
