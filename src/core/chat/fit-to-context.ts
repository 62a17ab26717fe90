/** Which passages of a conversation stay, where not all fit the model's context. */
import type { ChatEngine, ChatMessage, Tool } from "../ports/chat-engine.ts";
import type { FoundPassage } from "../retrieval/search.ts";
import { leastThatFits, promptRoom, roomAfterCut } from "./prompt-room.ts";

export interface Conversation {
  messages: readonly ChatMessage[];
  tools: readonly Tool[];
  /** Most tokens of the answer, where that is known. */
  maxTokens: number | undefined;
}

/** The passages of a user message. */
export interface Turn {
  /** Which message it is. */
  index: number;
  points: readonly FoundPassage[];
}

/**
 * Leaves out the oldest turns' passages, then this turn's of the lowest score, until the rest fits.
 * Once a turn has to go, others go with it to make room for some turns to come.
 */
export async function fitToContext(
  turns: readonly Turn[],
  render: (turns: readonly Turn[]) => readonly ChatMessage[],
  { tools, maxTokens }: Conversation,
  { engine, signal }: { engine: ChatEngine; signal: AbortSignal },
): Promise<readonly Turn[]> {
  const room = promptRoom(engine.contextSize, maxTokens);
  const tokensOf = (kept: readonly Turn[]): Promise<number> =>
    engine.countTokens(render(kept), tools, { signal });
  if ((await tokensOf(turns)) <= room) return turns;
  const fits = async (kept: readonly Turn[]): Promise<boolean> =>
    (await tokensOf(kept)) <= (kept.length > 1 ? roomAfterCut(room) : room);
  const all = turns.length - 1 + (turns.at(-1)?.points.length ?? 0);
  const fewest = await leastThatFits([1, all], (count) => fits(without(turns, count)));
  return without(turns, fewest);
}

/** Without the oldest turns or, where only the last is left, without its worst passages. */
function without(turns: readonly Turn[], count: number): readonly Turn[] {
  if (count < turns.length) return turns.slice(count);
  const [last] = turns.slice(-1);
  if (last === undefined) return turns;
  const gone = count - (turns.length - 1);
  return [{ ...last, points: last.points.slice(0, last.points.length - gone) }];
}
