/** Whether a message can be searched for by itself, or leans on the one before it. */

/** Words that stand for something that was said before. */
const pointing = new Set(
  "it its itself they them their theirs this that these those he him his she her hers there then else instead too also same such both either neither one ones latter former another".split(
    " ",
  ),
);

/** What goes on with what was said before. */
const goingOn = /^(and|or|but|so|what about|how about|what if|why not|for which|for what)\b/;

/** A question of so few words, or letters of a script without spaces, rarely says what it is about. */
const fewWords = 3;
const fewLetters = 8;
/** A longer one says what it is about, whatever it points at. */
const manyWords = 14;

export function leansOnBefore(text: string): boolean {
  const plain = text.trim().toLowerCase();
  const words = plain.match(/[\p{L}\p{N}\p{M}'’]+/gu) ?? [];
  if (words.length > manyWords) return false;
  const letters = words.join("").length;
  if (hasNoSpaces.test(plain)) return letters <= fewLetters;
  return (
    words.length <= fewWords || goingOn.test(plain) || words.some((word) => pointing.has(word))
  );
}

const hasNoSpaces =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
