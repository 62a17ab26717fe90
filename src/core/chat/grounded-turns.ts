/**
 * The passages of earlier turns, carried into the prompts of later ones. A client sends its messages back
 * as it wrote them; with their passages put back the prompt begins as it did, and what was evaluated need
 * not be again. Only the passages' ids are stored: their text is the collection's, as long as it has them.
 */
import type { DocumentCaller } from "../documents/document-caller.ts";
import { reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { ChatMessage } from "../ports/chat-engine.ts";
import type { RetrievalService } from "../retrieval/retrieval-service.ts";
import type { FoundPassage, PassagePlace } from "../retrieval/search.ts";
import type { Turn } from "./context-room.ts";

/** The key of each user message, by its index; see `turnKeys`. */
type TurnKeys = ReadonlyMap<number, string>;

export class CarriedPassages {
  readonly #retrieval: RetrievalService;
  readonly #log: Log;
  readonly #turns = new GroundedTurns();

  constructor(retrieval: RetrievalService, log: Log) {
    this.#retrieval = retrieval;
    this.#log = log;
  }

  /** Those of the turns that were given passages, with the passages that the collection still has. */
  async recall(keys: TurnKeys, caller: DocumentCaller): Promise<Turn[]> {
    const remembered = [...keys].map(([index, key]) => ({
      index,
      points: this.#turns.recall(key),
    }));
    const places = remembered.flatMap(({ points }) => points);
    const stored = await this.#read(places, caller);
    const turns = remembered.map(({ index, points }) => ({
      index,
      points: points.flatMap((place): FoundPassage[] => {
        const passage = stored.get(keyOf(place));
        return passage === undefined ? [] : [{ ...passage, score: place.score }];
      }),
    }));
    return turns.filter(({ points }) => points.length > 0);
  }

  /** Remembers what is in the prompt now, which the next turn's prompt begins with; forgets the rest. */
  keep(keys: TurnKeys, turns: readonly Turn[], left: readonly Turn[]): void {
    for (const { index } of turns) this.#turns.forget(keys.get(index) ?? "");
    for (const { index, points } of left) this.#turns.remember(keys.get(index) ?? "", points);
  }

  async #read(
    places: readonly PassagePlace[],
    caller: DocumentCaller,
  ): Promise<ReadonlyMap<string, FoundPassage>> {
    if (places.length === 0) return new Map();
    try {
      const passages = await this.#retrieval.read(places, caller);
      return new Map(passages.map((passage) => [keyOf(passage), passage]));
    } catch (error) {
      // They stay remembered: a store that is away for a turn has not lost them.
      this.#log.warn("the passages of earlier turns cannot be read; the chat goes on without", {
        reason: reasonOf(error),
      });
      return new Map();
    }
  }
}

const keyOf = ({ store, id }: Pick<PassagePlace, "store" | "id">): string => `${store}/${id}`;

/** Enough for the conversations that go on; the oldest is forgotten, which costs time only. */
const mostTurns = 1000;

class GroundedTurns {
  readonly #turns = new Map<string, readonly PassagePlace[]>();

  /** The passages that a turn was answered with. */
  recall(key: string): readonly PassagePlace[] {
    const points = this.#turns.get(key);
    if (points === undefined) return [];
    this.#turns.delete(key);
    this.#turns.set(key, points);
    return points;
  }

  /** What did not fit any more is not brought back, so that the next prompt begins as this one. */
  forget(key: string): void {
    this.#turns.delete(key);
  }

  remember(key: string, points: readonly PassagePlace[]): void {
    this.#turns.delete(key);
    if (points.length === 0) return;
    this.#turns.set(
      key,
      points.map(({ id, store, score }) => ({ id, store, score })),
    );
    const [oldest] = this.#turns.keys();
    if (this.#turns.size > mostTurns && oldest !== undefined) this.#turns.delete(oldest);
  }
}

/**
 * The key of each user message, by its index: the caller, and the conversation up to and with it.
 * One hash runs along, so that a long conversation is read once.
 */
export function turnKeys(caller: string, messages: readonly ChatMessage[]): Map<number, string> {
  const keys = new Map<number, string>();
  const hash = new Bun.CryptoHasher("sha256").update(`${JSON.stringify(caller)}\n`);
  for (const [index, message] of messages.entries()) {
    hash.update(`${JSON.stringify(message)}\n`);
    if (message.role === "user") keys.set(index, hash.copy().digest("base64"));
  }
  return keys;
}
