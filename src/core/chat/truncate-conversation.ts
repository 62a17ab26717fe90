/** A conversation that does not fit the model's context loses its oldest messages, where the caller wants that. */
import type { ChatEngine, ChatMessage } from "../ports/chat-engine.ts";
import type { Conversation } from "./fit-to-context.ts";
import { leastThatFits, promptRoom, roomAfterCut } from "./prompt-room.ts";

export interface TruncatedConversation {
  kept: readonly ChatMessage[];
  /** How many messages were left out. */
  dropped: number;
}

/**
 * What the model is told stays, and so does the last message of the user. Older turns go first, then
 * the oldest steps of the current one: calls of functions with their outputs.
 */
export async function truncateConversation(
  { messages, tools, maxTokens }: Conversation,
  engine: Pick<ChatEngine, "contextSize" | "countTokens">,
  signal: AbortSignal,
): Promise<TruncatedConversation> {
  const room = promptRoom(engine.contextSize, maxTokens);
  const tokensOf = (kept: readonly ChatMessage[]): Promise<number> =>
    engine.countTokens(kept, tools, { signal });
  const cuts = cutsOf(messages);
  if (cuts.length === 0 || (await tokensOf(messages)) <= room)
    return { kept: messages, dropped: 0 };
  const fits = async (cut: number): Promise<boolean> =>
    (await tokensOf(without(messages, cuts[cut]))) <= roomAfterCut(room);
  const first = await leastThatFits([0, cuts.length - 1], fits);
  const kept = without(messages, cuts[first]);
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
