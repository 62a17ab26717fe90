/** An answer that the scheduler runs, and how far it is. */
import type { Token } from "node-llama-cpp";
import type { Answer, Feed, ScheduledPrompt } from "./answer.ts";
import type { CachedSequence } from "./kv-cache.ts";

export class RunningAnswer {
  readonly scheduled: ScheduledPrompt;
  /** What is still to be evaluated before the next token is sampled. */
  pending: Token[] = [];
  rewindTo: number | undefined;
  /** Whether its sequence has been made ready for its prompt. */
  prepared = false;
  /** Whether its prompt is still being evaluated: no token was sampled yet. */
  inPrefill = true;
  stopped = false;

  constructor(scheduled: ScheduledPrompt) {
    this.scheduled = scheduled;
  }

  get sequence(): CachedSequence {
    return this.scheduled.sequence;
  }

  get answer(): Answer {
    return this.scheduled.answer;
  }

  /** Whether log probabilities are wanted of what is being evaluated. */
  get isScored(): boolean {
    return this.inPrefill && this.answer.promptScores !== undefined;
  }

  /** Whether a single token stands between it and its next one, as in every step of an answer. */
  get decodes(): boolean {
    return !this.inPrefill && this.pending.length === 1;
  }

  take({ rewindTo, tokens }: Feed): void {
    if (rewindTo !== undefined) this.rewindTo = rewindTo;
    for (const token of tokens) this.pending.push(token);
  }
}
