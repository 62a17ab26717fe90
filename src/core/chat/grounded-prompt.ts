/** Puts passages into a conversation, each with a marker that the answer can cite. */
import type { ChatMessage } from "../ports/chat-engine.ts";
import type { ScoredPassage } from "../ports/passage-repository.ts";
import type { Turn } from "./context-room.ts";
import { withTextBefore } from "./images.ts";

/** Puts the passages of each turn before its user message, numbered across the conversation. */
export function groundedUserMessages(
  messages: readonly ChatMessage[],
  prompt: string,
  turns: readonly Turn[],
): readonly ChatMessage[] {
  const pointsAt = new Map(turns.map(({ index, points }) => [index, points]));
  let next = 1;
  return messages.map((message, index) => {
    const points = pointsAt.get(index) ?? [];
    if (message.role !== "user" || points.length === 0) return message;
    const text = passageText(prompt, points, next);
    next += points.length;
    return withTextBefore(message, `${text}\n\n`);
  });
}

/** Puts the passages at the end of the system message, which is added if there is none. */
export function groundedSystemMessage(
  messages: readonly ChatMessage[],
  prompt: string,
  points: readonly ScoredPassage[],
): readonly ChatMessage[] {
  if (points.length === 0) return messages;
  const text = passageText(prompt, points, 1);
  const at = messages.findIndex(({ role }) => role === "system");
  if (at === -1) return [{ role: "system", content: text }, ...messages];
  return messages.map((message, index) =>
    index === at ? { role: "system", content: `${message.content}\n\n${text}` } : message,
  );
}

/** A stop text against small models that repeat the prompt instead of ending; undefined if an answer could begin like it. */
export function promptEcho(prompt: string): string | undefined {
  const words = prompt.split(/[,.;:\n]/, 1)[0]?.trim() ?? "";
  // Models that were given one passage repeat it in the singular.
  const singular = words.replace(/(?<=\bpassage)s\b.*/, "");
  return [singular, words].find(({ length }) => length >= shortestEcho);
}

const shortestEcho = 20;

function passageText(prompt: string, points: readonly ScoredPassage[], first: number): string {
  const passages = points.map(({ document, source }, index) => {
    const marker = `[${first + index}]`;
    return document === "" ? `${marker} ${source}` : `${marker} ${document}\n${source}`;
  });
  return [...passages, prompt].join("\n\n");
}

const pieceWords = 4;
/** Share of its pieces that another passage must have for a passage to be left out; headings may differ. */
const containedShare = 0.9;

/** Leaves out passages that another one, or one of `there`, contains; of two equal ones, the first stays. */
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

/** In a script without spaces, each letter is a word. */
const word = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]|[\p{L}\p{N}\p{M}]+/gu;

function piecesOf(text: string): Set<string> {
  const words = text.toLowerCase().match(word) ?? [];
  // A text with hardly any words, such as a table of symbols, is contained only in an equal one.
  if (words.length < pieceWords) return new Set([text.trim()]);
  const last = words.length - pieceWords;
  return new Set(
    Array.from({ length: last + 1 }, (_, at) => words.slice(at, at + pieceWords).join(" ")),
  );
}
