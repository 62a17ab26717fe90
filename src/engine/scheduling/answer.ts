/** What the scheduler runs: a prompt with its sequence, the answer that follows it, and how far it is. */
import type { Token } from "node-llama-cpp";
import type { NativeSampler, SampledLogits } from "../native/sampler.ts";
import type { CachedSequence } from "./kv-cache.ts";

/** What an answer wants to be evaluated before its next token is sampled. */
export interface Feed {
  /** Rewinds the sequence to so many tokens of prompt and answer first. */
  rewindTo?: number;
  tokens: readonly Token[];
}

export interface Sampled {
  token: Token;
  /** Where log probabilities are wanted. */
  logits?: SampledLogits;
}

/** Takes the log probabilities of a prompt's own tokens. */
export interface PromptScores {
  readonly scorer: Pick<NativeSampler, "logitsOf">;
  /** How many of the likeliest tokens' logits are wanted in each place. */
  readonly top: number;
  /** Called for each token of the prompt but the first, in their order. */
  take(logits: SampledLogits): void;
}

/** An answer as the scheduler drives it. Its methods are synchronous: one that waited would hold up the batch. */
export interface Answer {
  readonly sampler: Pick<NativeSampler, "sample" | "sampleWithLogits">;
  /** How many of the likeliest tokens' logits it wants to know; absent: none. */
  readonly topLogits: number | undefined;
  /** Wanted of its prompt, every token of which is evaluated then, a few in each step. */
  readonly promptScores?: PromptScores | undefined;
  /** Back pressure: its reader is so far behind that it is left out of the next steps. */
  readonly paused: boolean;
  /**
   * Called before its prompt is evaluated, of which the KV cache holds `cachedTokens`. Returns what
   * is to be evaluated after the prompt.
   */
  begin(cachedTokens: number): Feed | undefined;
  /** Takes its next token; undefined: the answer is complete. */
  accept(sampled: Sampled): Feed | undefined;
  fail(reason: unknown): void;
}

/** Another sequence whose prefix can be copied, so that it is not evaluated again. */
export interface PrefixSource {
  sequence: CachedSequence;
  /** How many tokens of the prompt it has, or will have. */
  shared: number;
  /** Whether it has yet to evaluate them. */
  pending(): boolean;
}

export interface ScheduledPrompt {
  sequence: CachedSequence;
  prompt: readonly Token[];
  /** Evaluates the whole prompt in full batches of its own, so that the arithmetic is the same each time. */
  fresh: boolean;
  source: PrefixSource | undefined;
  /** A free sequence to copy what this one holds to, where it would be evicted otherwise. */
  evictionTarget: () => CachedSequence | undefined;
  /** Whose prompt it is; what the sequence holds of another scope is not used. */
  scope: string | undefined;
  answer: Answer;
}

/** An answer that the scheduler runs, and how far it is. */
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

/** Scores a prompt's own tokens, by the outputs of those before them. `evaluated`: how many tokens the batch had of it; `last`: the index of the last one's output. */
export async function scorePrompt(
  run: RunningAnswer,
  evaluated: number,
  last: number,
): Promise<void> {
  const { promptScores: scores } = run.answer;
  const start = run.sequence.tokens.length - evaluated;
  for (let at = 0; at < evaluated && scores !== undefined && !run.stopped; at++) {
    const next = run.scheduled.prompt[start + at + 1];
    if (next === undefined) return;
    // One after the other: a sampler does one thing at a time.
    scores.take(await scores.scorer.logitsOf(next, last - evaluated + 1 + at, scores.top));
  }
}
