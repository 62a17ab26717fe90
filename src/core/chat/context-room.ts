/** Fits a conversation into a model's context: how many tokens a prompt may have, and what is dropped. */
import { NodeError } from "../errors.ts";
import type { ChatEngine, ChatMessage, Tool } from "../ports/chat-engine.ts";
import type { EngineCall } from "../ports/telemetry.ts";
import type { FoundPassage } from "../retrieval/search.ts";

/** Tokens reserved for the answer if the request sets no maximum. */
const answerTokens = 512;
const answerShare = 0.25;

const promptRoom = (contextSize: number, maxTokens = answerTokens): number =>
  contextSize - Math.min(maxTokens, Math.floor(contextSize * answerShare));

/** Once something has to be dropped: a prompt that begins differently is evaluated again, so more goes at once. */
const roomAfterCut = (room: number): number => Math.floor(room * 0.7);

/** The lowest number of a range that fits, or its last if none does. A binary search: each try counts all tokens. */
export async function leastThatFits(
  [from, to]: readonly [number, number],
  fits: (count: number) => Promise<boolean>,
): Promise<number> {
  let [least, most] = [from, to];
  while (least < most) {
    const middle = (least + most) >> 1;
    if (await fits(middle)) most = middle;
    else least = middle + 1;
  }
  return most;
}

export interface Conversation {
  messages: readonly ChatMessage[];
  tools: readonly Tool[];
  /** Most tokens of the answer; undefined if the request sets no maximum. */
  maxTokens: number | undefined;
}

export interface Turn {
  index: number;
  points: readonly FoundPassage[];
}

/** Drops the passages of the oldest turns, then this turn's with the lowest scores. Once a turn goes, others go with it, as room for the next. */
export async function fitToContext(
  turns: readonly Turn[],
  render: (turns: readonly Turn[]) => readonly ChatMessage[],
  { tools, maxTokens }: Conversation,
  { engine, ...asking }: { engine: ChatEngine } & Pick<EngineCall, "signal" | "caller">,
): Promise<readonly Turn[]> {
  const room = promptRoom(engine.contextSize, maxTokens);
  const tokensOf = (left: readonly Turn[]): Promise<number> =>
    engine.countTokens(render(left), tools, asking);
  if ((await tokensOf(turns)) <= room) return turns;
  const fits = async (left: readonly Turn[]): Promise<boolean> =>
    (await tokensOf(left)) <= (left.length > 1 ? roomAfterCut(room) : room);
  const all = turns.length - 1 + (turns.at(-1)?.points.length ?? 0);
  const fewest = await leastThatFits([1, all], (count) => fits(withoutTurns(turns, count)));
  return withoutTurns(turns, fewest);
}

/** Without the oldest turns or, if only the last is left, without its worst passages. */
function withoutTurns(turns: readonly Turn[], count: number): readonly Turn[] {
  if (count < turns.length) return turns.slice(count);
  const [last] = turns.slice(-1);
  if (last === undefined) return turns;
  const gone = count - (turns.length - 1);
  return [{ ...last, points: last.points.slice(0, last.points.length - gone) }];
}

interface TruncatedConversation {
  left: readonly ChatMessage[];
  dropped: number;
}

/** Drops the oldest turns, then the oldest calls with their outputs of the current one; system messages and the last user message stay. */
export async function truncateConversation(
  { messages, tools, maxTokens }: Conversation,
  engine: Pick<ChatEngine, "contextSize" | "countTokens">,
  asking: Pick<EngineCall, "signal" | "caller">,
): Promise<TruncatedConversation> {
  const room = promptRoom(engine.contextSize, maxTokens);
  const tokensOf = (left: readonly ChatMessage[]): Promise<number> =>
    engine.countTokens(left, tools, asking);
  const cuts = cutsOf(messages);
  if (cuts.length === 0 || (await tokensOf(messages)) <= room)
    return { left: messages, dropped: 0 };
  const fits = async (cut: number): Promise<boolean> =>
    (await tokensOf(withoutCut(messages, cuts[cut]))) <= roomAfterCut(room);
  const first = await leastThatFits([0, cuts.length - 1], fits);
  const left = withoutCut(messages, cuts[first]);
  return { left, dropped: messages.length - left.length };
}

/** Where the rest may begin, the longest first; no output is separated from its call. */
function cutsOf(messages: readonly ChatMessage[]): number[] {
  const { told, last } = placesIn(messages);
  return messages.flatMap(({ role }, at) => {
    const isTurn = role === "user" && at > told && at <= last;
    return isTurn || (role === "assistant" && at > last + 1) ? [at] : [];
  });
}

/** The user message that began the current turn stays, even if steps after it are dropped. */
function withoutCut(messages: readonly ChatMessage[], to = 0): readonly ChatMessage[] {
  const { told, last } = placesIn(messages);
  return messages.filter((_, at) => at < told || at >= to || (at === last && to > last));
}

const placesIn = (messages: readonly ChatMessage[]): { told: number; last: number } => ({
  told: messages.findIndex(({ role }) => role !== "system"),
  last: messages.findLastIndex(({ role }) => role === "user"),
});

type PromptPart = "messages" | "prompt";

/** For a prompt that leaves no room for an answer; `more`: counting stopped at the context's size. */
export function promptTooLong(
  tokens: number | "more",
  contextSize: number,
  part: PromptPart = "messages",
): NodeError {
  const found = tokens === "more" ? `more than ${contextSize}` : tokens;
  return refusal(
    `${found} tokens; with room for an answer, this model's context of ${contextSize} tokens holds at most ${contextSize - 1}`,
    part,
  );
}

export const longerThanContext = (contextSize: number, part: PromptPart): NodeError =>
  refusal(`more tokens than this model's context of ${contextSize} holds`, part);

const refusal = (found: string, part: PromptPart): NodeError =>
  new NodeError(
    "context_length_exceeded",
    `The ${part} ${part === "messages" ? "have" : "has"} ${found}. Shorten the ${part}.`,
    { subject: { part: part } },
  );
