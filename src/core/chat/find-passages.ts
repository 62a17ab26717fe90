/** The passages that match a conversation's question; where there are none for it, why. */
import { NodeError, reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { ChatMessage } from "../ports/chat-engine.ts";
import type { EmbedOptions } from "../ports/embedding-engine.ts";
import type { ScoredPassage, SearchBounds } from "../ports/passage-repository.ts";
import type { RetrievalService } from "../retrieval/retrieval-service.ts";
import { questionOf } from "./question.ts";

export interface FoundPassages {
  /** In descending score. */
  points: readonly ScoredPassage[];
  /** Why there are none, where retrieval failed. */
  error?: string;
  /** What was done to the question where it could not be taken as it is; and that passages are still being stored. */
  notice?: string;
}

export interface PassageSearch {
  messages: readonly ChatMessage[];
  /** How many of the last user messages make the question. */
  contextWindow: number;
  bounds: SearchBounds;
}

/** A retrieval that fails does not fail the chat: it is answered without passages, and says so. */
export async function findPassages(
  retrieval: RetrievalService,
  { messages, contextWindow, bounds }: PassageSearch,
  options: EmbedOptions,
  log: Log,
): Promise<FoundPassages> {
  const { signal } = options;
  try {
    const { engine } = retrieval.model();
    const prefix = retrieval.queryPrefix;
    const { text, shortened } = await questionOf(messages, contextWindow, engine, {
      prefix,
      signal,
    });
    const [tokens] = await engine.countTokens([text], { signal });
    if (tokens === 0) return { points: [] };
    const { points } = await retrieval.find(text, bounds, options);
    const notices = [
      ...(shortened
        ? [
            `The last user message has more tokens than the embedding model takes (${engine.maxTokens}); its end was matched.`,
          ]
        : []),
      ...(retrieval.coming === undefined ? [] : [retrieval.coming]),
    ];
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
