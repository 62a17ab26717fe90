/** The passages that callers' turns were given: ids alone, since the text is read again. */
import type { PassagePlace } from "../retrieval/search.ts";

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
