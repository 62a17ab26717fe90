/** Finds the passages that match the question of a conversation. */
import { NodeError, reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { ChatMessage } from "../ports/chat-engine.ts";
import type { EmbeddingEngine, EmbedOptions } from "../ports/embedding-engine.ts";
import type { RetrievalService } from "../retrieval/retrieval-service.ts";
import type { SearchScope } from "../retrieval/search.ts";
import { leastThatFits } from "./context-room.ts";
import type { FoundPassages, RagSettings } from "./rag.ts";

interface PassageSearch extends Pick<RagSettings, "contextWindow" | "followUps" | "bounds"> {
  messages: readonly ChatMessage[];
  scope: SearchScope;
}

/** If retrieval fails, the chat is still answered, without passages; the result has the error. */
export async function findPassages(
  retrieval: RetrievalService,
  search: PassageSearch,
  options: EmbedOptions,
  log: Log,
): Promise<FoundPassages> {
  const { signal } = options;
  try {
    const { engine } = retrieval.model();
    const prefix = retrieval.queryPrefix;
    const { messages, bounds, scope } = search;
    const isFollowUp = isSearchedWithBefore(search);
    const window = isFollowUp ? 2 : search.contextWindow;
    const question = await questionOf(messages, window, engine, { prefix, signal });
    const { text, shortened } = question;
    const [tokens] = await engine.countTokens([text], { signal });
    if (tokens === 0) return { points: [] };
    const { points } = await retrieval.find(text, bounds, options, scope);
    const isWithBefore = isFollowUp && question.messages === 2;
    const notices = [
      shortened ? shortenedNotice(engine.maxTokens) : isWithBefore ? followUpNotice : undefined,
      retrieval.coming,
    ].filter((sentence) => sentence !== undefined);
    return { points, ...(notices.length === 0 ? {} : { notice: notices.join(" ") }) };
  } catch (cause) {
    signal.throwIfAborted();
    log.warn("retrieval failed; the chat is answered without passages", {
      reason: reasonOf(cause),
    });
    const error = cause instanceof NodeError ? cause.message : "Retrieval failed.";
    return { points: [], error };
  }
}

const shortenedNotice = (most: number): string =>
  `The last user message has more tokens than the embedding model takes (${most}); its end was matched.`;

const followUpNotice =
  "The last user message leans on what was before it, so it was matched together with the user message before.";

/** Only for a context window of 1: a wider one includes the message before anyway. */
function isSearchedWithBefore({ messages, contextWindow, followUps }: PassageSearch): boolean {
  if (!followUps || contextWindow !== 1) return false;
  const [before, last] = messages.filter(({ role }) => role === "user").slice(-2);
  return before !== undefined && last !== undefined && leansOnBefore(last.content);
}

interface Question {
  text: string;
  shortened: boolean;
  messages: number;
}

/** More than any text has on average: a text that is longer cannot fit, and is not tokenized to find out. */
const charactersPerToken = 64;

/** The last `window` user messages; to fit, older ones are left out, then the beginning of the last. */
export async function questionOf(
  messages: readonly ChatMessage[],
  window: number,
  engine: EmbeddingEngine,
  { prefix, signal }: { prefix: string; signal: AbortSignal },
): Promise<Question> {
  const longest = engine.maxTokens * charactersPerToken;
  const fits = async (parts: readonly string[], separator: string): Promise<boolean> => {
    if (parts.reduce((sum, { length }) => sum + length, 0) > longest) return false;
    const [tokens = 0] = await engine.countTokens([prefix + parts.join(separator)], { signal });
    return tokens <= engine.maxTokens;
  };
  const said = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  const asked = said.slice(-window);
  const from = await leastThatFits([0, asked.length], (at) => fits(asked.slice(at), "\n"));
  if (from < asked.length) {
    const taken = asked.slice(from);
    return { text: taken.join("\n"), shortened: false, messages: taken.length };
  }
  // The question is usually at the end of a long message.
  const words = (said.at(-1) ?? "").slice(-longest).split(/(?<=\s)/);
  const start = await leastThatFits([0, words.length], (at) => fits(words.slice(at), ""));
  return { text: words.slice(start).join(""), shortened: true, messages: 1 };
}

/** Words that refer to an earlier message. */
const pointing = new Set(
  "it its itself they them their theirs this that these those he him his she her hers there then else instead too also same such both either neither one ones latter former another".split(
    " ",
  ),
);

/** Openings that continue an earlier message. */
const goingOn = /^(and|or|but|so|what about|how about|what if|why not|for which|for what)\b/;

/** A question with so few words, or letters in a script without spaces, rarely names its topic. */
const fewWords = 3;
const fewLetters = 8;
/** A question with more words names its topic, even if it refers to an earlier message. */
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
