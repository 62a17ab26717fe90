/**
 * Chunked prefill: how many tokens of prompts one step evaluates beside running answers. It follows
 * from how long steps took, since every answer waits for the chunk and the prompt waits for the
 * answers.
 */

/** A chunk may take as long as this many steps of the answers alone … */
const answerSteps = 8;
/** … but it is not made smaller than what takes the first of these, nor larger than the second. */
const [shortestMs, longestMs] = [100, 1000];
/** Before anything was measured. */
const firstChunk = 64;
const smallestChunk = 16;
/** Of an exponential moving average: how much the last step counts against those before. */
const weight = 0.3;

export interface Step {
  /** Answers that got a token. */
  answers: number;
  promptTokens: number;
  ms: number;
}

export class PrefillBudget {
  #answerMs: number | undefined;
  #tokenMs: number | undefined;

  /** How many tokens of prompts the next step may evaluate beside answers. */
  get tokens(): number {
    if (this.#tokenMs === undefined) return firstChunk;
    const answerMs = this.#answerMs ?? 0;
    const bounded = Math.min(Math.max(answerMs * answerSteps, shortestMs), longestMs);
    // Where a single token takes seconds, a prompt still gets half of the time.
    const ms = Math.max(bounded, answerMs);
    return Math.max(smallestChunk, Math.floor(ms / this.#tokenMs));
  }

  took({ answers, promptTokens, ms }: Step): void {
    if (promptTokens === 0) {
      this.#answerMs = average(this.#answerMs, ms);
      return;
    }
    const ofAnswers = answers > 0 ? (this.#answerMs ?? 0) : 0;
    const ofPrompt = Math.max(ms - ofAnswers, ms / 10);
    // A few tokens cost nearly a whole pass over the weights, and say little about many.
    if (promptTokens >= smallestChunk) {
      this.#tokenMs = average(this.#tokenMs, ofPrompt / promptTokens);
    }
  }
}

const average = (before: number | undefined, now: number): number =>
  before === undefined ? now : before + weight * (now - before);
