/** The markers in an answer that name its passages: [1], or [1, 3]. */

export type Piece = string | { marker: number };

const markers = /\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/g;

/** The text in pieces, of which the numbers in brackets from 1 to `most` are markers. */
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
