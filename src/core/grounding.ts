/** Grounded chat: passages that match the question go into the prompt, and the answer says which. */
import { NodeError, reasonOf } from "./errors.ts";
import { groundedContent, groundedSystem } from "./grounded-prompt.ts";
import { GroundedTurns } from "./grounded-turns.ts";
import type { Log } from "./log.ts";
import type { ChatEngine, ChatMessage, Tool } from "./ports/chat-engine.ts";
import type { ScoredPassage, SearchBounds } from "./ports/passage-repository.ts";
import { questionOf } from "./question.ts";
import type { RagPolicy } from "./rag-policy.ts";
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
  /** The passages of this turn in descending score, as the prompt numbers them. */
  points: readonly ScoredPassage[];
  /** How many more matched and did not fit the context. */
  dropped: number;
  /** Passages of earlier turns that are in the prompt still. */
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
    options: { signal: AbortSignal },
  ): Promise<GroundedConversation> {
    const policy = this.#policy(wanted);
    if (policy === "off") return { messages: conversation.messages };
    const { messages } = conversation;
    const last = messages.findLastIndex(({ role }) => role === "user");
    const intoUser = policy === "last-user-message";
    // Amid a turn, as between a tool's call and its result, the passages stay those of its beginning.
    const begun = last < messages.length - 1 ? this.#turns.recall(messages, last) : [];
    const found =
      begun.length > 0 ? { points: begun } : await this.#find(messages, wanted, options);
    const turns = [
      ...(intoUser ? this.#earlierTurns(messages, last) : []),
      { index: last, points: found.points },
    ];
    const render = (kept: readonly Turn[]): readonly ChatMessage[] =>
      intoUser ? this.#intoUser(messages, kept) : this.#intoSystem(messages, kept);
    const kept = fitToContext(turns, render, conversation, engine);
    const points = kept.at(-1)?.points ?? [];
    if (intoUser) this.#turns.remember(messages, last, points);
    return {
      messages: render(kept),
      grounding: {
        ...found,
        points,
        dropped: found.points.length - points.length,
        carried: kept.slice(0, -1).reduce((sum, turn) => sum + turn.points.length, 0),
      },
    };
  }

  #policy(wanted: RagRequest | undefined): RagPolicy {
    const { policy } = this.#settings;
    if (wanted === undefined) return policy;
    return wanted.policy ?? (policy === "off" ? "last-user-message" : policy);
  }

  async #find(
    messages: readonly ChatMessage[],
    wanted: RagRequest | undefined,
    options: { signal: AbortSignal },
  ): Promise<Found> {
    const { bounds, contextWindow } = this.#settings;
    try {
      const { engine } = this.#retrieval.model();
      const window = wanted?.contextWindow ?? contextWindow;
      const question = questionOf(messages, window, engine, this.#retrieval.queryPrefix);
      if (engine.countTokens(question.text) === 0) return { points: [] };
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
    return messages.map((message, index) =>
      message.role === "user"
        ? { ...message, content: groundedContent(message.content, prompt, points.get(index) ?? []) }
        : message,
    );
  }

  #intoSystem(messages: readonly ChatMessage[], turns: readonly Turn[]): readonly ChatMessage[] {
    return groundedSystem(messages, this.#settings.prompt, turns.at(-1)?.points ?? []);
  }
}

/** Leaves out the oldest turns' passages, then this turn's of the lowest score, until the rest fits. */
function fitToContext(
  turns: readonly Turn[],
  render: (turns: readonly Turn[]) => readonly ChatMessage[],
  { tools, maxTokens = answerTokens }: Conversation,
  engine: ChatEngine,
): readonly Turn[] {
  const { contextSize } = engine;
  const room = contextSize - Math.min(maxTokens, Math.floor(contextSize * answerShare));
  let kept = turns;
  while (engine.countTokens(render(kept), tools) > room) {
    const shorter = shorten(kept);
    if (shorter === undefined) break;
    kept = shorter;
  }
  return kept;
}

function shorten(turns: readonly Turn[]): readonly Turn[] | undefined {
  if (turns.length > 1) return turns.slice(1);
  const [last] = turns;
  if (last === undefined || last.points.length === 0) return undefined;
  return [{ ...last, points: last.points.slice(0, -1) }];
}
