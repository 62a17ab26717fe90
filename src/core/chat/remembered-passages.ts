/** The passages that callers' turns were given: ids alone, since the text is read again. */
import type { ChatMessage } from "../ports/chat-engine.ts";
import type { PassagePlace } from "../retrieval/search.ts";
import { imageMarks } from "./images.ts";

type Places = readonly PassagePlace[];

/** Enough for the active conversations. A forgotten turn only costs time. */
const mostTurns = 1000;

export class RememberedPassages {
  /** By caller and turn, a caller's least recently used first. */
  readonly #callers = new Map<string, Map<string, Places>>();

  get(caller: string, turn: string): Places {
    const turns = this.#callers.get(caller);
    const places = turns?.get(turn) ?? [];
    if (turns?.delete(turn)) turns.set(turn, places);
    return places;
  }

  forget(caller: string, turn: string): void {
    const turns = this.#callers.get(caller);
    turns?.delete(turn);
    if (turns?.size === 0) this.#callers.delete(caller);
  }

  set(caller: string, turn: string, places: Places): void {
    const turns = this.#callers.get(caller) ?? new Map<string, Places>();
    this.#callers.set(caller, turns.set(turn, places));
    const all = [...this.#callers];
    if (all.reduce((sum, [, { size }]) => sum + size, 0) <= mostTurns) return;
    // Who has most loses its own, so that nobody's are forgotten for another's.
    const [loser, most] = all.reduce((one, other) => (other[1].size > one[1].size ? other : one));
    const [oldest] = most.keys();
    if (oldest !== undefined) this.forget(loser, oldest);
  }
}

export type TurnKeys = ReadonlyMap<number, string>;

/** By index of each user message: a hash of the conversation up to it. It runs on, so that a long conversation is read once. */
export function turnKeys(messages: readonly ChatMessage[]): TurnKeys {
  const keys = new Map<number, string>();
  const hash = new Bun.CryptoHasher("sha256");
  for (const [index, message] of messages.entries()) {
    const text = { ...message, images: imageMarks(message) };
    hash.update(`${JSON.stringify(text)}\n`);
    if (message.role === "user") keys.set(index, hash.copy().digest("base64"));
  }
  return keys;
}
