/** Parses inline text of an answer: passage markers, entities and safe links. */

export type Piece = string | { marker: number };

const markers = /\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/g;

/** Splits text at its markers: numbers in brackets from 1 to `most`. */
export function piecesOf(text: string, most: number): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const { 0: all, 1: list = "", index } of text.matchAll(markers)) {
    const numbers = list.split(",").map(Number);
    if (!numbers.every((number) => number >= 1 && number <= most)) continue;
    pieces.push(`${text.slice(end, index)}[`);
    for (const [at, marker] of numbers.entries())
      pieces.push(...(at > 0 ? [", "] : []), { marker });
    pieces.push("]");
    end = index + all.length;
  }
  return [...pieces, text.slice(end)].filter((piece) => piece !== "");
}

/** Character references in Markdown text, without the help of an HTML parser. */
const named: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
};

const highest = 0x10ffff;

export function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-z]{2,4}));/g,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return Object.hasOwn(named, name) ? (named[name] ?? whole) : whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return code <= highest ? String.fromCodePoint(code) : whole;
    },
  );
}

/** Protocols allowed in links: web and mail, nothing that runs code or reads files. */
const safe = new Set(["http:", "https:", "mailto:"]);

/** The link's address; undefined if it is not safe. */
export function safeLink(href: string): string | undefined {
  try {
    const address = new URL(href);
    return safe.has(address.protocol) ? address.href : undefined;
  } catch {
    return undefined;
  }
}
