/** Which passages of a conversation stay, where not all fit the model's context. */
import type { ChatEngine, ChatMessage, Tool } from "../ports/chat-engine.ts";
import type { FoundPassage } from "../retrieval/found-passage.ts";

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

/** Tokens of the context that are left to the answer where the request does not say. */
const answerTokens = 512;
const answerShare = 0.25;
/** How full of its prompt the context may be once a turn had to go. */
const afterShedding = 0.7;

/**
 * Leaves out the oldest turns' passages, then this turn's of the lowest score, until the rest fits.
 * Once a turn has to go, others go with it to make room for some turns to come: each time the prompt
 * begins differently, all of it is evaluated again.
 */
export async function fitToContext(
  turns: readonly Turn[],
  render: (turns: readonly Turn[]) => readonly ChatMessage[],
  { tools, maxTokens = answerTokens }: Conversation,
  { engine, signal }: { engine: ChatEngine; signal: AbortSignal },
): Promise<readonly Turn[]> {
  const { contextSize } = engine;
  const room = contextSize - Math.min(maxTokens, Math.floor(contextSize * answerShare));
  const tokensOf = (kept: readonly Turn[]): Promise<number> =>
    engine.countTokens(render(kept), tools, { signal });
  if ((await tokensOf(turns)) <= room) return turns;
  const fits = async (kept: readonly Turn[]): Promise<boolean> =>
    (await tokensOf(kept)) <= (kept.length > 1 ? Math.floor(room * afterShedding) : room);
  // The fewest that have to go, by halves: each try counts the whole conversation.
  let [fewest, most] = [1, turns.length - 1 + (turns.at(-1)?.points.length ?? 0)];
  while (fewest < most) {
    const middle = (fewest + most) >> 1;
    if (await fits(without(turns, middle))) most = middle;
    else fewest = middle + 1;
  }
  return without(turns, most);
}

/** Without the oldest turns or, where only the last is left, without its worst passages. */
function without(turns: readonly Turn[], count: number): readonly Turn[] {
  if (count < turns.length) return turns.slice(count);
  const [last] = turns.slice(-1);
  if (last === undefined) return turns;
  const gone = count - (turns.length - 1);
  return [{ ...last, points: last.points.slice(0, last.points.length - gone) }];
}
