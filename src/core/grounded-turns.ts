/**
 * What earlier user messages were given. A client sends its messages back as it wrote them; with
 * their passages put back the prompt begins as it did, and what was evaluated need not be again.
 */
import type { ChatMessage } from "./ports/chat-engine.ts";
import type { ScoredPassage } from "./ports/passage-repository.ts";

/** Enough for the conversations that go on; the oldest is forgotten, which costs time only. */
const mostTurns = 1000;

export class GroundedTurns {
  readonly #turns = new Map<string, readonly ScoredPassage[]>();

  /** The passages that the user message at `index` was answered with. */
  recall(messages: readonly ChatMessage[], index: number): readonly ScoredPassage[] {
    const key = keyOf(messages, index);
    const points = this.#turns.get(key);
    if (points === undefined) return [];
    this.#turns.delete(key);
    this.#turns.set(key, points);
    return points;
  }

  /** What did not fit any more is not brought back, so that the next prompt begins as this one. */
  forget(messages: readonly ChatMessage[], index: number): void {
    this.#turns.delete(keyOf(messages, index));
  }

  remember(
    messages: readonly ChatMessage[],
    index: number,
    points: readonly ScoredPassage[],
  ): void {
    const key = keyOf(messages, index);
    this.#turns.delete(key);
    if (points.length > 0) this.#turns.set(key, points);
    const [oldest] = this.#turns.keys();
    if (this.#turns.size > mostTurns && oldest !== undefined) this.#turns.delete(oldest);
  }
}

/** The conversation up to and with that message. */
function keyOf(messages: readonly ChatMessage[], index: number): string {
  const hash = new Bun.CryptoHasher("sha256");
  return hash.update(JSON.stringify(messages.slice(0, index + 1))).digest("base64");
}
