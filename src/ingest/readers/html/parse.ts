/** Parses HTML into a tree of the elements that structure its text; of all others, only the text stays. */
import { beyond, type ReadLimits, unreadable } from "../limits.ts";

export interface HtmlElement {
  tag: string;
  attributes: Readonly<Record<string, string>>;
  children: HtmlNode[];
}
export type HtmlNode = string | HtmlElement;

const usedAttributes = ["class", "start", "colspan", "rowspan"];

/** Deeper nesting than any page needs is flattened, so that a hostile one cannot exhaust the stack. */
const deepest = 200;

export function parseHtml(
  html: string,
  limits: ReadLimits,
): { title: HtmlElement | undefined; body: HtmlElement } {
  checkEndTags(html);
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
      if (!isUsed(tag) || isDropped(top().tag)) return;
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

/** Some seconds of the parser. */
const mostSearched = 500_000_000;

/** The parser searches all open elements for the beginning of an end tag that has none, which takes minutes where there are enough of both. */
function checkEndTags(html: string): void {
  const open: string[] = [];
  const counts = new Map<string, number>();
  let searched = 0;
  for (const [, slash, name = ""] of html.matchAll(/<(\/?)([a-z][^\s/>]*)/gi)) {
    const tag = name.toLowerCase();
    const count = counts.get(tag) ?? 0;
    if (slash === "") {
      if (voidTags.has(tag)) continue;
      open.push(tag);
      counts.set(tag, count + 1);
    } else if (count === 0) searched += open.length;
    else {
      let ended: string | undefined;
      do {
        ended = open.pop() ?? tag;
        counts.set(ended, (counts.get(ended) ?? 1) - 1);
      } while (ended !== tag);
    }
    if (searched <= mostSearched) continue;
    throw unreadable(
      "has more end tags without a beginning, inside elements without an end, than can be read; repair its HTML",
    );
  }
}

/** Elements that have no end tag. */
const voidTags = tags("area base br col embed hr img input link meta param source track wbr");

const isUsed = (tag: string): boolean =>
  blockTags.has(tag) || hiddenTags.has(tag) || tag === "br" || tag === "code";

/** Whether all inside is left out. Not so a form: some servers wrap the whole page in one, see `contentOf`. */
const isDropped = (tag: string): boolean => hiddenTags.has(tag) && tag !== "form";

function attributesOf(source: HTMLRewriterTypes.Element): Record<string, string> {
  const given = usedAttributes.filter((name) => source.hasAttribute(name));
  return Object.fromEntries(given.map((name) => [name, source.getAttribute(name) ?? ""]));
}

/** A `main` that holds more than half of the page's text, or else the whole body; a form that holds so much becomes a `div`. */
function contentOf(body: HtmlElement, holders: readonly HtmlElement[]): HtmlElement {
  if (holders.length === 0) return body;
  const lengths = new Map<HtmlElement, number>();
  const half = lengthOf(body, lengths) / 2;
  const large = holders.filter((holder) => lengthOf(holder, lengths) > half);
  for (const holder of large) if (holder.tag === "form") holder.tag = "div";
  return large.find(({ tag }) => tag === "main") ?? body;
}

/** `known`: of elements that were measured before, since holders may lie within each other. */
function lengthOf(node: HtmlNode, known: Map<HtmlElement, number>): number {
  if (typeof node === "string") return node.trim().length;
  const before = known.get(node);
  if (before !== undefined) return before;
  const length = node.children
    .filter((child) => typeof child === "string" || !isDropped(child.tag))
    .reduce((sum, child) => sum + lengthOf(child, known), 0);
  known.set(node, length);
  return length;
}

/** Elements that are not part of a page's text; `hidden` stands for any element with that attribute. */
export const hiddenTags: ReadonlySet<string> = tags(
  "script style nav footer aside template noscript form title select textarea button datalist",
  "svg canvas iframe object audio video noframes annotation hidden",
);

export const headingTags: readonly string[] = ["h1", "h2", "h3", "h4", "h5", "h6"];

const blockTags: ReadonlySet<string> = tags(
  "address article blockquote caption center dd details div dl dt fieldset figcaption figure",
  "header hgroup hr legend li main menu ol p pre section summary table tbody td tfoot th thead tr",
  "ul",
  ...headingTags,
);

const endingHeadings = tags("p ul ol menu dl table pre blockquote hr", ...headingTags);

const endRules = [
  { begins: tags("li"), ends: tags("li"), within: tags("ul ol menu table") },
  { begins: tags("dt dd"), ends: tags("dt dd"), within: tags("dl table") },
  { begins: tags("td th"), ends: tags("td th"), within: tags("tr table") },
  { begins: tags("tr"), ends: tags("tr caption"), within: tags("table") },
  {
    begins: tags("thead tbody tfoot"),
    ends: tags("thead tbody tfoot tr caption"),
    within: tags("table"),
  },
];

/** How many of the open elements end because `tag` begins, as HTML lets their end tags be left out. */
function impliedEnds(open: readonly string[], tag: string): number {
  const rule = endRules.find(({ begins }) => begins.has(tag));
  let ended = 0;
  for (let depth = 1; rule !== undefined && depth <= open.length; depth += 1) {
    const parent = open.at(-depth) ?? "";
    if (rule.within.has(parent)) break;
    if (rule.ends.has(parent)) ended = depth;
  }
  return Math.max(ended, endedText(open, tag));
}

/** A block ends the paragraph that it begins in; some blocks also end a heading. */
function endedText(open: readonly string[], tag: string): number {
  const depth = open.at(-1) === "code" ? 2 : 1;
  const parent = open.at(-depth) ?? "";
  const isEnded =
    (parent === "p" && blockTags.has(tag)) ||
    (headingTags.includes(parent) && endingHeadings.has(tag));
  return isEnded ? depth : 0;
}

function tags(...lists: readonly string[]): Set<string> {
  return new Set(lists.flatMap((list) => list.split(" ")));
}
