/** Text within a block of HTML: its white space and line breaks. */
import { inlineCode } from "./html-code.ts";
import { decodeEntities } from "./html-entities.ts";
import { hiddenTags } from "./html-tags.ts";
import type { HtmlNode } from "./html-tree.ts";
import { oneLine } from "./markdown.ts";

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
