/** Cuts long texts for readers that may be behind, in answers of the node and in those of upstream servers. */

/** Characters of a piece. */
export const pieceLength = 65_536;

/** The text in order; no piece ends within a character. */
export function* piecesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = start + pieceLength;
    const isWithin = /[\uD800-\uDBFF]/.test(text.charAt(end - 1));
    yield text.slice(start, isWithin ? end - 1 : end);
    start = isWithin ? end - 1 : end;
  }
}
