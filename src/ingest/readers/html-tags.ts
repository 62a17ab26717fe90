/** The elements of HTML that shape a text, and which of them end where another begins. */

/** Elements that are not part of a page's text; `hidden` stands for any element with that attribute. */
export const hiddenTags: ReadonlySet<string> = tags(
  "script style nav footer aside template noscript form title select textarea button datalist",
  "svg canvas iframe object audio video noframes annotation hidden",
);

export const headingTags: readonly string[] = ["h1", "h2", "h3", "h4", "h5", "h6"];

export const blockTags: ReadonlySet<string> = tags(
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
export function impliedEnds(open: readonly string[], tag: string): number {
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
