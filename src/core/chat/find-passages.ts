/** The passages that match a conversation's question; where there are none for it, why. */
import { NodeError, reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { ChatMessage } from "../ports/chat-engine.ts";
import type { EmbedOptions } from "../ports/embedding-engine.ts";
import type { SearchBounds } from "../ports/passage-repository.ts";
import type { RetrievalService } from "../retrieval/retrieval-service.ts";
import type { FoundPassage, SearchScope } from "../retrieval/search.ts";
import { leansOnBefore } from "./follow-up.ts";
import { questionOf } from "./question.ts";

export interface FoundPassages {
  /** In descending score. */
  points: readonly FoundPassage[];
  /** Why there are none, where retrieval failed. */
  error?: string;
  /** What was done to the question where it was not taken as it is, and that passages are still being stored. */
  notice?: string;
}

export interface PassageSearch {
  messages: readonly ChatMessage[];
  /** How many of the last user messages make the question. */
  contextWindow: number;
  /** Whether a last message that leans on the one before is searched for together with it. */
  followUps: boolean;
  bounds: SearchBounds;
  scope: SearchScope;
}

/** A retrieval that fails does not fail the chat: it is answered without passages, and says so. */
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

/** Where more messages are the question anyway, none is added. */
function isSearchedWithBefore({ messages, contextWindow, followUps }: PassageSearch): boolean {
  if (!followUps || contextWindow !== 1) return false;
  const [before, last] = messages.filter(({ role }) => role === "user").slice(-2);
  return before !== undefined && last !== undefined && leansOnBefore(last.content);
}
