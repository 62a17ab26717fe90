/** Grounded chat: passages that match the question go into the prompt, and the answer says which. */
import { NodeError, reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { CallOptions, ChatEngine, ChatMessage } from "../ports/chat-engine.ts";
import type { EmbedOptions } from "../ports/embedding-engine.ts";
import type { ScoredPassage, SearchBounds } from "../ports/passage-repository.ts";
import { narrow, type RetrievalService } from "../retrieval/retrieval-service.ts";
import { type Conversation, fitToContext, type Turn } from "./fit-to-context.ts";
import { groundedContent, groundedSystem } from "./grounded-prompt.ts";
import { GroundedTurns, type RememberedPoint, turnKeys } from "./grounded-turns.ts";
import { questionOf } from "./question.ts";
import { checkContextWindow, type RagPolicy } from "./rag-policy.ts";

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

export interface GroundedConversation {
  messages: readonly ChatMessage[];
  grounding?: Grounding;
}

type Found = Pick<Grounding, "points" | "error" | "notice">;

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

  /**
   * The conversation with its passages. Where retrieval fails it is answered without, and says so.
   * What a caller's turns were given is that caller's alone.
   */
  async ground(
    conversation: Conversation,
    wanted: RagRequest | undefined,
    engine: ChatEngine,
    options: EmbedOptions & Pick<CallOptions, "caller">,
  ): Promise<GroundedConversation> {
    checkContextWindow(wanted?.contextWindow, this.#settings.contextWindow);
    const policy = this.#policy(wanted);
    if (policy === "off") return { messages: conversation.messages };
    const { messages } = conversation;
    const last = messages.findLastIndex(({ role }) => role === "user");
    const intoUser = policy === "last-user-message";
    const keys = turnKeys(options.caller ?? "", messages);
    const recalled = await this.#recall(keys, { last, intoUser, messages });
    const begun = recalled.find(({ index }) => index === last)?.points ?? [];
    const found =
      begun.length > 0 ? { points: begun } : await this.#find(messages, wanted, options);
    const earlier = recalled.filter(({ index }) => index !== last);
    const there = new Set(earlier.flatMap(({ points }) => points.map(({ id }) => id)));
    // What an earlier turn brought is in the prompt already.
    const own = found.points.filter(({ id }) => !there.has(id));
    const turns = [...earlier, { index: last, points: own }];
    const render = (kept: readonly Turn[]): readonly ChatMessage[] =>
      intoUser ? this.#intoUser(messages, kept) : this.#intoSystem(messages, kept);
    const kept = await fitToContext(turns, render, conversation, { engine, ...options });
    if (intoUser) this.#keep(keys, turns, kept);
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
  #keep(keys: ReadonlyMap<number, string>, turns: readonly Turn[], kept: readonly Turn[]): void {
    for (const { index } of turns) this.#turns.forget(keys.get(index) ?? "");
    for (const { index, points } of kept) this.#turns.remember(keys.get(index) ?? "", points);
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

  /**
   * The turns that were given passages, with those of them that the collection still has. Amid a
   * turn, as between a tool's call and its result, its own passages stay those of its beginning.
   */
  async #recall(
    keys: ReadonlyMap<number, string>,
    {
      last,
      intoUser,
      messages,
    }: { last: number; intoUser: boolean } & Pick<Conversation, "messages">,
  ): Promise<Turn[]> {
    const wanted = [...keys].filter(([index]) =>
      index === last ? last < messages.length - 1 : intoUser,
    );
    const turns = wanted.map(([index, key]) => ({ index, points: this.#turns.recall(key) }));
    const ids = new Set(turns.flatMap(({ points }) => points.map(({ id }) => id)));
    if (ids.size === 0) return [];
    try {
      const passages = await this.#retrieval.read([...ids]);
      const there = new Map(passages.map((passage) => [passage.id, passage]));
      const present = ({ id, score }: RememberedPoint): ScoredPassage[] => {
        const passage = there.get(id);
        return passage === undefined ? [] : [{ ...passage, score }];
      };
      return turns
        .map(({ index, points }) => ({ index, points: points.flatMap(present) }))
        .filter(({ points }) => points.length > 0);
    } catch (error) {
      // They are remembered on: a store that is away for a turn has not lost them.
      this.#log.warn("the passages of earlier turns cannot be read; the chat goes on without", {
        reason: reasonOf(error),
      });
      return [];
    }
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

const countPoints = (turns: readonly Turn[]): number =>
  turns.reduce((sum, { points }) => sum + points.length, 0);
