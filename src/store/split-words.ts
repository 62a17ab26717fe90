/** Splits text into the words that both stores index and search. */
import { stemmer } from "stemmer";

/** A change of `wordsOf` must change this: collections store it, and those with another are rebuilt. */
export const wordForm = 2;

/**
 * Letters and digits in lower case, with English words stemmed. Scripts without spaces need a
 * dictionary to find words, and dictionaries differ between machines: there, each two (Chinese,
 * Japanese) or three (Thai, Lao, Khmer, Burmese) neighbouring letters are a word.
 */
export function wordsOf(text: string): string[] {
  const runs = withoutAccents(text).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  return runs.flatMap((run) => (isAscii.test(run) ? [stemOf(run)] : partsOf(run)));
}

/** The words that say what is asked for, or all if there are no others: "how do I" is in any text, and in few passages. */
export function questionWordsOf(question: string): string[] {
  const words = wordsOf(question);
  const telling = words.filter((word) => !asking.has(word));
  return telling.length === 0 ? words : telling;
}

const isAscii = /^[a-z0-9]+$/;
const stemOf = (word: string): string => (/^[a-z]+$/.test(word) ? stemmer(word) : word);

/** English words that a question is made with, whatever it asks for. */
const asking = new Set(
  (
    "a an the of in on at to for from by with as and or is are was were be do does did have has had " +
    "can i my you your it what which who when where why how"
  )
    .split(" ")
    .map(stemOf),
);

/** Scripts in which a mark is an accent, and not a letter as in Thai, or a part of one as in Japanese. */
const accented =
  /([\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Arabic}\p{sc=Hebrew}\p{N}])\p{M}+/gu;

const withoutAccents = (text: string): string =>
  text.normalize("NFKD").toLowerCase().replace(accented, "$1").normalize("NFC");

const ideographs = String.raw`\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}`;
const southeastAsian = String.raw`\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}`;
const scripts = new RegExp(
  `(?<pairs>[${ideographs}]+)|(?<triples>[${southeastAsian}]+)|(?<word>[^${ideographs}${southeastAsian}]+)`,
  "gu",
);

function partsOf(run: string): string[] {
  return [...run.matchAll(scripts)].flatMap(({ groups = {} }) => {
    if (groups.pairs !== undefined) return neighbours(groups.pairs, 2);
    if (groups.triples !== undefined) return neighbours(groups.triples, 3);
    return [stemOf(groups.word ?? "")];
  });
}

/** Every `count` consecutive letters; the whole run if it is shorter. */
function neighbours(run: string, count: number): string[] {
  const letters = [...run];
  const last = Math.max(0, letters.length - count);
  return Array.from({ length: last + 1 }, (_, at) => letters.slice(at, at + count).join(""));
}
