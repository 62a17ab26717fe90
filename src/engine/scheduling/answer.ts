/** What the scheduler is given to run: a prompt with its sequence, and the answer that follows it. */
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
