/**
 * Counts tokens that are only estimated while they come. Until an answer's end each event counts as
 * one token; where that was too many, later tokens pay for it, so that the sum never falls.
 */
export class TokenTally {
  #debt = 0;

  /** Adds tokens, fewer than none to correct; answers how many the sum grows by. */
  add(tokens: number): number {
    const due = tokens - this.#debt;
    this.#debt = Math.max(0, -due);
    return Math.max(0, due);
  }
}
