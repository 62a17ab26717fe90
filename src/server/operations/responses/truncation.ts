/** `truncation: auto`: a conversation that does not fit loses its oldest messages. */
import type { ChatEngine, ChatMessage, Tool } from "../../../core/ports/chat-engine.ts";

export interface TruncatedConversation {
  kept: readonly ChatMessage[];
  /** How many messages were left out. */
  dropped: number;
}

interface Conversation {
  messages: readonly ChatMessage[];
  tools: readonly Tool[];
  /** Most tokens of the answer, where that is known. */
  maxTokens?: number;
}

/** Tokens of the context that are left to the answer where the request does not say. */
const answerTokens = 512;
const answerShare = 0.25;
/** How full the context may be once something had to go: each time the prompt begins differently, all of it is evaluated again. */
const afterTruncation = 0.7;

/**
 * What the model is told stays, and so does the last message of the user. Older turns go first, then
 * the oldest steps of the current one: calls of functions with their outputs.
 */
export async function truncated(
  { messages, tools, maxTokens = answerTokens }: Conversation,
  engine: Pick<ChatEngine, "contextSize" | "countTokens">,
  signal: AbortSignal,
): Promise<TruncatedConversation> {
  const { contextSize } = engine;
  const room = contextSize - Math.min(maxTokens, Math.floor(contextSize * answerShare));
  const tokensOf = (kept: readonly ChatMessage[]): Promise<number> =>
    engine.countTokens(kept, tools, { signal });
  const cuts = cutsOf(messages);
  if (cuts.length === 0 || (await tokensOf(messages)) <= room)
    return { kept: messages, dropped: 0 };
  // The first cut that leaves little enough, by halves: each try counts the whole conversation.
  let [from, to] = [0, cuts.length - 1];
  while (from < to) {
    const middle = (from + to) >> 1;
    const kept = without(messages, cuts[middle]);
    if ((await tokensOf(kept)) <= Math.floor(room * afterTruncation)) to = middle;
    else from = middle + 1;
  }
  const kept = without(messages, cuts[to]);
  return { kept, dropped: messages.length - kept.length };
}

/** The messages from `from` to before `to` go. */
interface Cut {
  from: number;
  to: number;
}

/** Where it may be cut, in the order of how much goes; no output loses its call. */
function cutsOf(messages: readonly ChatMessage[]): Cut[] {
  const told = messages.findIndex(({ role }) => role !== "system");
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.flatMap(({ role }, to): Cut[] => {
    if (role === "user" && to > told && to <= last) return [{ from: told, to }];
    if (role === "assistant" && to > last + 1) return [{ from: told, to }];
    return [];
  });
}

/** Steps of the current turn go without the message of the user that began it. */
function without(messages: readonly ChatMessage[], cut: Cut | undefined): readonly ChatMessage[] {
  if (cut === undefined) return messages;
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.filter(
    (_, at) => at < cut.from || at >= cut.to || (at === last && cut.to > last),
  );
}
