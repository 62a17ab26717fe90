/** The elements of an HTML page that shape its text, as a tree; of all others only their text is kept. */
import { blockTags, hiddenTags, impliedEnds } from "./html-tags.ts";
import { beyond, type ReadLimits } from "./limits.ts";

export interface HtmlElement {
  tag: string;
  attributes: Readonly<Record<string, string>>;
  children: HtmlNode[];
}
export type HtmlNode = string | HtmlElement;

const keptAttributes = ["class", "start", "colspan", "rowspan"];

/** Deeper nesting than any page needs is flattened, so that a hostile one cannot exhaust the stack. */
const deepest = 200;

export function parseHtml(
  html: string,
  limits: ReadLimits,
): { title: HtmlElement | undefined; body: HtmlElement } {
  const body: HtmlElement = { tag: "body", attributes: {}, children: [] };
  const stack = [body];
  const holders: HtmlElement[] = [];
  let title: HtmlElement | undefined;
  let elements = 0;
  const top = (): HtmlElement => stack.at(-1) ?? body;
  const rewriter = new HTMLRewriter();
  rewriter.onDocument({
    text: ({ text }) => {
      const { children } = top();
      const last = children.at(-1);
      if (typeof last === "string") children[children.length - 1] = last + text;
      else children.push(text);
    },
  });
  rewriter.on("*", {
    element: (source) => {
      elements += 1;
      if (elements > limits.max_elements) return;
      const tag = source.hasAttribute("hidden") ? "hidden" : source.tagName;
      if (!isKept(tag) || isDropped(top().tag)) return;
      if (stack.length > deepest && !isDropped(tag)) return;
      const open = stack.slice(1).map((element) => element.tag);
      stack.length -= impliedEnds(open, tag);
      const element = { tag, attributes: attributesOf(source), children: [] };
      if (tag === "title") title ??= element;
      if (tag === "form" || tag === "main") holders.push(element);
      top().children.push(element);
      if (!source.canHaveContent) return;
      stack.push(element);
      source.onEndTag(() => {
        const depth = stack.lastIndexOf(element);
        if (depth > 0) stack.length = depth;
      });
    },
  });
  rewriter.transform(html);
  if (elements > limits.max_elements) throw beyond("max_elements", limits);
  return { title, body: contentOf(body, holders) };
}

const isKept = (tag: string): boolean =>
  blockTags.has(tag) || hiddenTags.has(tag) || tag === "br" || tag === "code";

/** Whether all inside is left out. Not so a form: some servers wrap the whole page in one, see `contentOf`. */
const isDropped = (tag: string): boolean => hiddenTags.has(tag) && tag !== "form";

function attributesOf(source: HTMLRewriterTypes.Element): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const name of keptAttributes) {
    const value = source.getAttribute(name);
    if (value !== null) attributes[name] = value;
  }
  return attributes;
}

/** A `main` that holds more than half of the page's text, or else the whole body; a form that holds so much is kept as a `div`. */
function contentOf(body: HtmlElement, holders: readonly HtmlElement[]): HtmlElement {
  const half = holders.length === 0 ? 0 : lengthOf(body) / 2;
  const large = holders.filter((holder) => lengthOf(holder) > half);
  for (const holder of large) if (holder.tag === "form") holder.tag = "div";
  return large.find(({ tag }) => tag === "main") ?? body;
}

function lengthOf(node: HtmlNode): number {
  if (typeof node === "string") return node.trim().length;
  return node.children
    .filter((child) => typeof child === "string" || !isDropped(child.tag))
    .reduce((sum, child) => sum + lengthOf(child), 0);
}
