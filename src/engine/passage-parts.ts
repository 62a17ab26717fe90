/** A passage that a model cannot read at once, in parts that overlap. */

/** How much of a part is in the one before it too: what is said across an end is whole in one of them. */
const overlap = 0.5;

/** Parts of at most so many tokens, the last as long as the others; one that is empty where there are no tokens. */
export function partsOf<Token>(tokens: readonly Token[], most: number): Token[][] {
  const size = Math.max(1, most);
  if (tokens.length <= size) return [[...tokens]];
  const step = Math.max(1, Math.floor(size * (1 - overlap)));
  const parts: Token[][] = [];
  for (let start = 0; ; start += step) {
    const from = Math.min(start, tokens.length - size);
    parts.push(tokens.slice(from, from + size));
    if (from + size >= tokens.length) return parts;
  }
}
