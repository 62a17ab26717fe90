/** Grounds chats: adds the passages that match the question to the prompt, and reports them. */
import type { DocumentCaller } from "../documents/document-caller.ts";
import { NodeError, reasonOf } from "../errors.ts";
import { given } from "../given.ts";
import type { Log } from "../log.ts";
import type { CallOptions, ChatEngine, ChatMessage } from "../ports/chat-engine.ts";
import type { EmbeddingEngine, EmbedOptions } from "../ports/embedding-engine.ts";
import { narrow, type RetrievalService } from "../retrieval/retrieval-service.ts";
import type { FoundPassage, PassagePlace, SearchScope } from "../retrieval/search.ts";
import { type Conversation, fitToContext, leastThatFits, type Turn } from "./context-room.ts";
import {
  groundedSystemMessage,
  groundedUserMessages,
  promptEcho,
  withoutContained,
} from "./grounded-prompt.ts";
import type { FoundPassages, Grounding, RagPolicy, RagRequest, RagSettings } from "./rag.ts";
import { RememberedPassages, type TurnKeys, turnKeys } from "./remembered-passages.ts";

export interface GroundedConversation {
  messages: readonly ChatMessage[];
  grounding?: Grounding;
  stop?: string;
}

export class GroundingService {
  readonly #retrieval: RetrievalService;
  readonly #settings: RagSettings;
  readonly #log: Log;
  /** Of earlier turns: put back, the prompt begins as before, for the prefix cache. */
  readonly #passages = new RememberedPassages();

  constructor(retrieval: RetrievalService, settings: RagSettings, log: Log) {
    this.#retrieval = retrieval;
    this.#settings = settings;
    this.#log = log;
  }

  /** If retrieval fails, there are no passages, and the result has the error. Earlier turns' are only reused for the same caller. */
  async ground(
    conversation: Conversation,
    wanted: RagRequest | undefined,
    engine: ChatEngine,
    options: EmbedOptions & Pick<CallOptions, "caller"> & { searcher: DocumentCaller },
  ): Promise<GroundedConversation> {
    checkContextWindow(wanted?.contextWindow, this.#settings.contextWindow);
    const { messages } = conversation;
    const policy = this.#policy(wanted);
    const isAuto = wanted?.auto === true;
    const isWithoutDocuments = this.#retrieval.collection.embeddingModel === undefined;
    if (policy === "off" || (isAuto && isWithoutDocuments)) return { messages };
    const scope = {
      caller: options.searcher,
      ...given({ stores: wanted?.stores, filter: wanted?.filter }),
      fieldOf: (index: number) => `${wanted?.storesField ?? "rag.vector_store_ids"}[${index}]`,
    };
    // A failing retrieval does not fail the chat; an invalid scope does.
    await this.#retrieval.check(scope);

    // The system message holds only the current turn's passages; user messages keep theirs.
    const carries = policy === "last-user-message";
    const current = messages.findLastIndex(({ role }) => role === "user");
    const { caller = "" } = options;
    const keys = turnKeys(messages);
    // During a turn, such as between a tool call and its result, the passages stay the same.
    const isDuringTurn = current < messages.length - 1;
    const isRecalled = (index: number): boolean => (index === current ? isDuringTurn : carries);
    const recalled = await this.#recall(
      caller,
      new Map([...keys].filter(([index]) => isRecalled(index))),
      options.searcher,
    );
    const earlier = recalled.filter(({ index }) => index !== current);
    const begun = recalled.find(({ index }) => index === current);
    const found: FoundPassages =
      begun === undefined
        ? await this.#find(messages, wanted, scope, options)
        : { points: begun.points };

    const matched = notIn(earlier, found.points);
    const known = earlier.flatMap((turn) => turn.points);
    const telling = withoutContained(matched, known);
    const turns = [...earlier, { index: current, points: telling }];
    const { prompt } = this.#settings;
    const render = (shown: readonly Turn[]): readonly ChatMessage[] =>
      carries
        ? groundedUserMessages(messages, prompt, shown)
        : groundedSystemMessage(messages, prompt, shown.at(-1)?.points ?? []);
    const left = await fitToContext(turns, render, conversation, { engine, ...options });
    if (carries) this.#remember(caller, keys, turns, left);
    const points = left.flatMap((turn) => turn.points);
    const dropped = matched.length - telling.length + countPoints(turns) - points.length;
    const isMissed = found.error !== undefined || this.#retrieval.coming.notice !== undefined;
    if (isAuto && points.length + dropped === 0 && !isMissed) return { messages };
    return {
      messages: render(left),
      ...given({ stop: points.length === 0 ? undefined : promptEcho(prompt) }),
      grounding: {
        ...found,
        points,
        dropped,
        carried: countPoints(left.slice(0, -1)),
      },
    };
  }

  #policy(wanted: RagRequest | undefined): RagPolicy {
    const { policy } = this.#settings;
    if (wanted === undefined) return policy;
    return wanted.policy ?? (policy === "off" ? "last-user-message" : policy);
  }

  /** If retrieval fails, the chat is still answered, without passages; the result has the error. */
  async #find(
    messages: readonly ChatMessage[],
    wanted: RagRequest | undefined,
    scope: SearchScope,
    options: EmbedOptions,
  ): Promise<FoundPassages> {
    const isAuto = wanted?.auto === true;
    // If the node decides, a handbook that is only partly stored would give the wrong page.
    if (isAuto && wanted.stores === undefined) await this.#retrieval.coming.stored(options.signal);
    try {
      const found = await this.#search(messages, wanted, scope, options);
      return isAuto ? { ...found, points: nearBest(found.points) } : found;
    } catch (cause) {
      options.signal.throwIfAborted();
      const reason = reasonOf(cause);
      this.#log.warn("retrieval failed; the chat is answered without passages", { reason });
      return { points: [], error: cause instanceof NodeError ? reason : "Retrieval failed." };
    }
  }

  async #search(
    messages: readonly ChatMessage[],
    {
      auto = false,
      contextWindow = this.#settings.contextWindow,
      bounds = {},
    }: Partial<RagRequest> = {},
    scope: SearchScope,
    options: EmbedOptions,
  ): Promise<FoundPassages> {
    const { signal } = options;
    const { bounds: widest, autoThreshold, followUps } = this.#settings;
    const allowed = auto ? narrow(widest, { scoreThreshold: autoThreshold }) : widest;
    const { engine } = this.#retrieval.model();
    const prefix = this.#retrieval.queryPrefix;
    // A wider window includes the message before anyway.
    const isFollowUp = followUps && contextWindow === 1 && isFollowUpIn(messages);
    const window = isFollowUp ? 2 : contextWindow;
    const question = await questionOf(messages, window, engine, { prefix, signal });
    const { text, shortened } = question;
    const [tokens] = await engine.countTokens([text], { signal });
    if (tokens === 0) return { points: [] };
    const { points } = await this.#retrieval.find(text, narrow(allowed, bounds), options, scope);
    const isWithBefore = isFollowUp && question.messages === 2;
    const notices = [
      shortened ? shortenedNotice(engine.maxTokens) : isWithBefore ? followUpNotice : undefined,
      this.#retrieval.coming.notice,
    ].filter((sentence) => sentence !== undefined);
    return { points, ...(notices.length === 0 ? {} : { notice: notices.join(" ") }) };
  }

  async #recall(caller: string, keys: TurnKeys, searcher: DocumentCaller): Promise<Turn[]> {
    const remembered = [...keys].map(([index, key]) => {
      return { index, points: this.#passages.get(caller, key) };
    });
    const places = remembered.flatMap(({ points }) => points);
    const read = await this.#retrieval.read(places, searcher).catch((error: unknown) => {
      // They stay remembered: a store that is unavailable for one turn has not lost them.
      const reason = reasonOf(error);
      this.#log.warn("passages of earlier turns cannot be read; the chat goes on without", {
        reason,
      });
      return [];
    });
    const stored = new Map(read.map((passage) => [keyOf(passage), passage]));
    const turns = remembered.map(({ index, points }) => ({
      index,
      points: points.flatMap((place) => stored.get(keyOf(place)) ?? []),
    }));
    return turns.filter(({ points }) => points.length > 0);
  }

  /** Remembers the passages now in the prompt, which the next turn's prompt begins with; forgets the rest. */
  #remember(caller: string, keys: TurnKeys, turns: readonly Turn[], left: readonly Turn[]): void {
    for (const { index } of turns) this.#passages.forget(caller, keys.get(index) ?? "");
    for (const { index, points } of left) {
      if (points.length === 0) continue;
      const places = points.map(({ id, store, score }) => ({ id, store, score }));
      this.#passages.set(caller, keys.get(index) ?? "", places);
    }
  }
}

/** How far below the best score a passage may be if the request leaves grounding to the node. */
const autoMargin = 0.05;

/** A few passages, so that a small model can tell them apart: 49 of 50 questions about the node still get a page with the answer. */
function nearBest(points: readonly FoundPassage[]): readonly FoundPassage[] {
  const best = points[0]?.score ?? 0;
  return points.filter(({ score }) => score >= best - autoMargin);
}

function notIn(turns: readonly Turn[], points: readonly FoundPassage[]): readonly FoundPassage[] {
  const held = new Set(turns.flatMap((turn) => turn.points.map(keyOf)));
  return points.filter((point) => !held.has(keyOf(point)));
}

const countPoints = (turns: readonly Turn[]): number =>
  turns.reduce((sum, { points }) => sum + points.length, 0);

/** Refuses a context window wider than the node allows: each message has to be tokenized. */
function checkContextWindow(wanted: number | undefined, most: number): void {
  if (wanted === undefined || wanted <= most) return;
  const param = "rag.context_window";
  const why = `'${param}' is ${wanted}; this node allows at most ${most} (its own ${param}).`;
  throw new NodeError("invalid_request", why, { param });
}

const keyOf = ({ store, id }: Pick<PassagePlace, "store" | "id">): string => `${store}/${id}`;

const shortenedNotice = (most: number): string =>
  `The last user message has more tokens than the embedding model takes (${most}); its end was matched.`;

const followUpNotice =
  "The last user message leans on what was before it, so it was matched together with the user message before.";

function isFollowUpIn(messages: readonly ChatMessage[]): boolean {
  const [before, last] = messages.filter(({ role }) => role === "user").slice(-2);
  return before !== undefined && last !== undefined && leansOnBefore(last.content);
}

/** More than any text has on average: a text that is longer cannot fit, and is not tokenized to find out. */
const charactersPerToken = 64;

/** The last `window` user messages; to fit, older ones are left out, then the beginning of the last. */
export async function questionOf(
  messages: readonly ChatMessage[],
  window: number,
  engine: EmbeddingEngine,
  { prefix, signal }: { prefix: string; signal: AbortSignal },
) {
  const longest = engine.maxTokens * charactersPerToken;
  const fits = async (parts: readonly string[], separator: string): Promise<boolean> => {
    if (parts.reduce((sum, { length }) => sum + length, 0) > longest) return false;
    const [tokens = 0] = await engine.countTokens([prefix + parts.join(separator)], { signal });
    return tokens <= engine.maxTokens;
  };
  const said = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  const asked = said.slice(-window);
  const from = await leastThatFits([0, asked.length], (at) => fits(asked.slice(at), "\n"));
  if (from < asked.length) {
    const taken = asked.slice(from);
    return { text: taken.join("\n"), shortened: false, messages: taken.length };
  }
  // The question is usually at the end of a long message.
  const words = (said.at(-1) ?? "").slice(-longest).split(/(?<=\s)/);
  const start = await leastThatFits([0, words.length], (at) => fits(words.slice(at), ""));
  return { text: words.slice(start).join(""), shortened: true, messages: 1 };
}

const pointing = new Set(
  "it its itself they them their theirs this that these those he him his she her hers there then else instead too also same such both either neither one ones latter former another".split(
    " ",
  ),
);

const goingOn = /^(and|or|but|so|what about|how about|what if|why not|for which|for what)\b/;

/** A question with so few words, or letters in a script without spaces, rarely names its topic. */
const fewWords = 3;
const fewLetters = 8;
/** A question with more words names its topic, even if it refers to an earlier message. */
const manyWords = 14;

export function leansOnBefore(text: string): boolean {
  const plain = text.trim().toLowerCase();
  const words = plain.match(/[\p{L}\p{N}\p{M}'’]+/gu) ?? [];
  if (words.length > manyWords) return false;
  const letters = words.join("").length;
  if (hasNoSpaces.test(plain)) return letters <= fewLetters;
  return (
    words.length <= fewWords || goingOn.test(plain) || words.some((word) => pointing.has(word))
  );
}

const hasNoSpaces =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
