/**
 * What earlier user messages were given. A client sends its messages back as it wrote them; with
 * their passages put back the prompt begins as it did, and what was evaluated need not be again.
 * Only which passages they were is kept: their text is the collection's, as long as it has them.
 */
import type { ChatMessage } from "../ports/chat-engine.ts";
import type { PassagePlace } from "../retrieval/search.ts";

/** Enough for the conversations that go on; the oldest is forgotten, which costs time only. */
const mostTurns = 1000;

export class GroundedTurns {
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
