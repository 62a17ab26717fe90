/** Code in HTML, as Markdown writes it: between backticks or in a fence. */
import { decodeEntities } from "./html-entities.ts";
import { hiddenTags } from "./html-tags.ts";
import type { HtmlElement, HtmlNode } from "./html-tree.ts";
import { fence, longestRun, oneLine } from "./markdown.ts";

export function inlineCode(element: HtmlElement): string {
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
