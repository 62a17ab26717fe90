/** Passages that say nothing which another one does not say: they cost room, and tell the model nothing. */

/** So many words in a row make a piece that two texts share or do not. */
const pieceWords = 4;
/** How many of its pieces another passage has where it is left out; its headings may differ. */
const containedShare = 0.9;

/** Those that are neither contained in another of them nor in what is there already; of two alike the first stays. */
export function withoutContained<Passage extends { source: string }>(
  passages: readonly Passage[],
  there: readonly { source: string }[] = [],
): readonly Passage[] {
  const given = there.map(({ source }) => piecesOf(source));
  const own = passages.map(({ source }) => piecesOf(source));
  return passages.filter((_, at) => {
    const pieces = own[at] ?? new Set();
    if (given.some((other) => isIn(pieces, other))) return false;
    return !own.some(
      (other, index) => index !== at && isIn(pieces, other) && (index < at || !isIn(other, pieces)),
    );
  });
}

function isIn(pieces: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  let shared = 0;
  for (const piece of pieces) if (other.has(piece)) shared++;
  return shared >= containedShare * pieces.size;
}

/** In a script without spaces each letter is a word. */
const word = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]|[\p{L}\p{N}\p{M}]+/gu;

function piecesOf(text: string): Set<string> {
  const words = text.toLowerCase().match(word) ?? [];
  // What has hardly a word, such as a table of signs, is only contained in what is the same.
  if (words.length < pieceWords) return new Set([text.trim()]);
  const last = words.length - pieceWords;
  return new Set(
    Array.from({ length: last + 1 }, (_, at) => words.slice(at, at + pieceWords).join(" ")),
  );
}
