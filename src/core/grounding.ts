/** Grounded chat: passages that match the question go into the prompt, and the answer says which. */
import { NodeError, reasonOf } from "./errors.ts";
import { groundedContent, groundedSystem } from "./grounded-prompt.ts";
import { GroundedTurns } from "./grounded-turns.ts";
import type { Log } from "./log.ts";
import type { ChatEngine, ChatMessage, Tool } from "./ports/chat-engine.ts";
import type { EmbedOptions } from "./ports/embedding-engine.ts";
import type { ScoredPassage, SearchBounds } from "./ports/passage-repository.ts";
import { questionOf } from "./question.ts";
import { checkContextWindow, type RagPolicy } from "./rag-policy.ts";
import { narrow, type RetrievalService } from "./retrieval.ts";

export interface RagSettings {
  policy: RagPolicy;
  /** What the model is told about the passages. */
  prompt: string;
  bounds: SearchBounds;
  /** How many of the last user messages make the question. */
  contextWindow: number;
}

/** What a request says of grounding: it switches it, and narrows the node's bounds. */
export interface RagRequest {
  /** Absent: the node's, or into the last user message where that is off. */
  policy?: RagPolicy;
  bounds: Partial<SearchBounds>;
  contextWindow?: number;
}

/** What the prompt was given. */
export interface Grounding {
  /** The passages in the prompt, as it numbers them: those of earlier turns, then this turn's in descending score. */
  points: readonly ScoredPassage[];
  /** How many matched, now or in earlier turns, and do not fit the context any more. */
  dropped: number;
  /** How many of `points`, from the first, are those of earlier turns. */
  carried: number;
  /** Why there are no passages, where retrieval failed. */
  error?: string;
  /** What was done to the question where it could not be taken as it is. */
  notice?: string;
}

export interface Conversation {
  messages: readonly ChatMessage[];
  tools: readonly Tool[];
  /** Most tokens of the answer, where that is known. */
  maxTokens: number | undefined;
}

export interface GroundedConversation {
  messages: readonly ChatMessage[];
  grounding?: Grounding;
}

/** The passages of a user message. */
interface Turn {
  /** Which message it is. */
  index: number;
  points: readonly ScoredPassage[];
}

type Found = Pick<Grounding, "points" | "error" | "notice">;

/** What an answer is left of the context where the request does not say. */
const answerTokens = 512;
const answerShare = 0.25;
/** How full the context may be of a prompt that had to lose a turn. */
const afterShedding = 0.7;

export class GroundingService {
  readonly #retrieval: RetrievalService;
  readonly #settings: RagSettings;
  readonly #log: Log;
  readonly #turns = new GroundedTurns();

  constructor(retrieval: RetrievalService, settings: RagSettings, log: Log) {
    this.#retrieval = retrieval;
    this.#settings = settings;
    this.#log = log;
  }

  /** The conversation with its passages. Where retrieval fails it is answered without, and says so. */
  async ground(
    conversation: Conversation,
    wanted: RagRequest | undefined,
    engine: ChatEngine,
    options: EmbedOptions,
  ): Promise<GroundedConversation> {
    checkContextWindow(wanted?.contextWindow, this.#settings.contextWindow);
    const policy = this.#policy(wanted);
    if (policy === "off") return { messages: conversation.messages };
    const { messages } = conversation;
    const last = messages.findLastIndex(({ role }) => role === "user");
    const intoUser = policy === "last-user-message";
    // Amid a turn, as between a tool's call and its result, the passages stay those of its beginning.
    const begun = last < messages.length - 1 ? this.#turns.recall(messages, last) : [];
    const found =
      begun.length > 0 ? { points: begun } : await this.#find(messages, wanted, options);
    const earlier = intoUser ? this.#earlierTurns(messages, last) : [];
    const there = new Set(earlier.flatMap(({ points }) => points.map(({ id }) => id)));
    // What an earlier turn brought is in the prompt already.
    const own = found.points.filter(({ id }) => !there.has(id));
    const turns = [...earlier, { index: last, points: own }];
    const render = (kept: readonly Turn[]): readonly ChatMessage[] =>
      intoUser ? this.#intoUser(messages, kept) : this.#intoSystem(messages, kept);
    const kept = await fitToContext(turns, render, conversation, { engine, ...options });
    if (intoUser) this.#keep(messages, turns, kept);
    const points = kept.flatMap((turn) => turn.points);
    return {
      messages: render(kept),
      grounding: {
        ...found,
        points,
        dropped: countPoints(turns) - points.length,
        carried: countPoints(kept.slice(0, -1)),
      },
    };
  }

  /** The next turn begins with what is in the prompt now. */
  #keep(messages: readonly ChatMessage[], turns: readonly Turn[], kept: readonly Turn[]): void {
    for (const { index } of turns) this.#turns.forget(messages, index);
    for (const { index, points } of kept) this.#turns.remember(messages, index, points);
  }

  #policy(wanted: RagRequest | undefined): RagPolicy {
    const { policy } = this.#settings;
    if (wanted === undefined) return policy;
    return wanted.policy ?? (policy === "off" ? "last-user-message" : policy);
  }

  async #find(
    messages: readonly ChatMessage[],
    wanted: RagRequest | undefined,
    options: EmbedOptions,
  ): Promise<Found> {
    const { bounds, contextWindow } = this.#settings;
    try {
      const { engine } = this.#retrieval.model();
      const window = wanted?.contextWindow ?? contextWindow;
      const { signal } = options;
      const prefix = this.#retrieval.queryPrefix;
      const question = await questionOf(messages, window, engine, { prefix, signal });
      const [tokens] = await engine.countTokens([question.text], { signal });
      if (tokens === 0) return { points: [] };
      const narrowed = narrow(bounds, wanted?.bounds ?? {});
      const { points } = await this.#retrieval.find(question.text, narrowed, options);
      const notice = `The last user message has more tokens than the embedding model takes (${engine.maxTokens}); its end was matched.`;
      return { points, ...(question.shortened ? { notice } : {}) };
    } catch (cause) {
      options.signal.throwIfAborted();
      this.#log.warn("retrieval failed; the chat is answered without passages", {
        reason: reasonOf(cause),
      });
      const error = cause instanceof NodeError ? cause.message : "Retrieval failed.";
      return { points: [], error };
    }
  }

  #earlierTurns(messages: readonly ChatMessage[], last: number): Turn[] {
    return messages.slice(0, last).flatMap(({ role }, index) => {
      const points = role === "user" ? this.#turns.recall(messages, index) : [];
      return points.length === 0 ? [] : [{ index, points }];
    });
  }

  #intoUser(messages: readonly ChatMessage[], turns: readonly Turn[]): readonly ChatMessage[] {
    const points = new Map(turns.map((turn) => [turn.index, turn.points]));
    const { prompt } = this.#settings;
    let next = 1;
    return messages.map((message, index) => {
      if (message.role !== "user") return message;
      const own = points.get(index) ?? [];
      const content = groundedContent(message.content, prompt, own, next);
      next += own.length;
      return { ...message, content };
    });
  }

  #intoSystem(messages: readonly ChatMessage[], turns: readonly Turn[]): readonly ChatMessage[] {
    return groundedSystem(messages, this.#settings.prompt, turns.at(-1)?.points ?? []);
  }
}

/**
 * Leaves out the oldest turns' passages, then this turn's of the lowest score, until the rest fits.
 * Once a turn has to go, others go with it to make room for some turns to come: each time the prompt
 * begins differently, all of it is evaluated again.
 */
async function fitToContext(
  turns: readonly Turn[],
  render: (turns: readonly Turn[]) => readonly ChatMessage[],
  { tools, maxTokens = answerTokens }: Conversation,
  { engine, signal }: { engine: ChatEngine; signal: AbortSignal },
): Promise<readonly Turn[]> {
  const { contextSize } = engine;
  const room = contextSize - Math.min(maxTokens, Math.floor(contextSize * answerShare));
  const tokensOf = (kept: readonly Turn[]): Promise<number> =>
    engine.countTokens(render(kept), tools, { signal });
  let kept = turns;
  let most = room;
  for (let tokens = await tokensOf(kept); tokens > most; tokens = await tokensOf(kept)) {
    const shorter = shorten(kept);
    if (shorter === undefined || (kept.length === 1 && tokens <= room)) break;
    most = kept.length > 1 ? Math.floor(room * afterShedding) : room;
    kept = shorter;
  }
  return kept;
}

const countPoints = (turns: readonly Turn[]): number =>
  turns.reduce((sum, { points }) => sum + points.length, 0);

function shorten(turns: readonly Turn[]): readonly Turn[] | undefined {
  if (turns.length > 1) return turns.slice(1);
  const [last] = turns;
  if (last === undefined || last.points.length === 0) return undefined;
  return [{ ...last, points: last.points.slice(0, -1) }];
}
