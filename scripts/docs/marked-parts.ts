/** Parts of a page that are written by a script, between markers; the prose around them is people's. */

/** Puts each part between `<!-- NAME -->` and `<!-- /NAME -->`. */
export function withParts(page: string, parts: Readonly<Record<string, string>>): string {
  let text = page;
  for (const [name, part] of Object.entries(parts)) {
    const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
    const [before, rest] = splitOnce(text, start);
    const [, after] = splitOnce(rest, end);
    text = `${before}${start}\n\n${part.trim()}\n\n${end}${after}`;
  }
  return text;
}

function splitOnce(text: string, marker: string): [string, string] {
  const at = text.indexOf(marker);
  if (at === -1) throw new Error(`The page has no marker ${marker}`);
  return [text.slice(0, at), text.slice(at + marker.length)];
}
