/** The best of many scored rows, without keeping the rest. */

export interface Candidate {
  key: number;
  score: number;
}

export class BestCandidates {
  readonly #most: number;
  readonly #threshold: number;
  /** In descending score. */
  readonly #best: Candidate[] = [];

  constructor(most: number, threshold: number) {
    this.#most = most;
    this.#threshold = threshold;
  }

  offer(candidate: Candidate): void {
    const { score } = candidate;
    const worst = this.#best.at(-1);
    const isFull = this.#best.length >= this.#most;
    if (score < this.#threshold || (isFull && score <= (worst?.score ?? 1))) return;
    const place = this.#best.findIndex((kept) => kept.score < score);
    this.#best.splice(place === -1 ? this.#best.length : place, 0, candidate);
    if (this.#best.length > this.#most) this.#best.pop();
  }

  sorted(): readonly Candidate[] {
    return this.#best;
  }
}
