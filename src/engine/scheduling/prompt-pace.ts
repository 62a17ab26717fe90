/**
 * How much of a prompt is evaluated in one step beside running answers. It follows from how long
 * steps took: the answers wait for the piece, the prompt waits for the answers.
 */

/** A prompt's piece may take this much longer than a step of the answers alone … */
const answerSteps = 8;
/** … but not be cut smaller than what takes this long, nor take longer than the second. */
const [shortestMs, longestMs] = [100, 1000];
/** Before anything was measured. */
const firstPiece = 64;
const smallestPiece = 16;
/** How much the last step counts against those before. */
const weight = 0.3;

export interface Step {
  /** Answers that got a token. */
  answers: number;
  promptTokens: number;
  ms: number;
}

export class PromptPace {
  #answerMs: number | undefined;
  #tokenMs: number | undefined;

  /** How many tokens of prompts the next step may evaluate beside answers. */
  get piece(): number {
    if (this.#tokenMs === undefined) return firstPiece;
    const answerMs = this.#answerMs ?? 0;
    const bounded = Math.min(Math.max(answerMs * answerSteps, shortestMs), longestMs);
    // Where one token takes seconds, a prompt has half of the time all the same.
    const ms = Math.max(bounded, answerMs);
    return Math.max(smallestPiece, Math.floor(ms / this.#tokenMs));
  }

  took({ answers, promptTokens, ms }: Step): void {
    if (promptTokens === 0) {
      this.#answerMs = average(this.#answerMs, ms);
      return;
    }
    const ofAnswers = answers > 0 ? (this.#answerMs ?? 0) : 0;
    const ofPrompt = Math.max(ms - ofAnswers, ms / 10);
    // A few tokens cost nearly a whole pass over the weights, and say little about many.
    if (promptTokens >= smallestPiece) {
      this.#tokenMs = average(this.#tokenMs, ofPrompt / promptTokens);
    }
  }
}

const average = (before: number | undefined, now: number): number =>
  before === undefined ? now : before + weight * (now - before);
