/** Plans the next batch: the next token of every answer, and as much of the prompts as fits beside them (chunked prefill). */
import type { Token } from "node-llama-cpp";
import type { BatchPart } from "../native/contexts.ts";
import type { RunningAnswer } from "./answer.ts";

/** Tokens of a scored prompt in a step: each needs the sorted logits of the whole vocabulary, which takes milliseconds. */
const scoredAlone = 32;
const scoredBeside = 8;

export interface PlannedPart {
  run: RunningAnswer;
  tokens: readonly Token[];
}

export interface BatchLimits {
  batchSize: number;
  /** Whether a checkpoint must be taken before the last token of a prompt. */
  needsCheckpoints: boolean;
}

export class BatchPlanner {
  readonly #limits: BatchLimits;
  #answerMs: number | undefined;
  #tokenMs: number | undefined;
  /** Whether the last batch was a prompt's alone; the answers have the next one then. */
  #ranAlone = false;

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  /** In the order of the sequences: llama.cpp computes only neighbours in one pass. */
  plan(runs: Iterable<RunningAnswer>): PlannedPart[] {
    const ready = [...runs].filter(
      ({ prepared, pending, answer }) => prepared && pending.length > 0 && !answer.paused,
    );
    const decoding = ready.filter((run) => run.decodes);
    const prompts = ready.filter((run) => !run.decodes);
    const [first] = prompts;
    const others = prompts.filter(({ scheduled }) => !scheduled.fresh);
    const isAlone = decoding.length + others.length === 0;
    if (first?.scheduled.fresh === true && (isAlone || !this.#ranAlone)) {
      this.#ranAlone = true;
      return [{ run: first, tokens: this.#chunk(first, this.#limits.batchSize, false) }];
    }
    this.#ranAlone = false;
    const parts: PlannedPart[] = decoding.map((run) => ({ run, tokens: run.pending }));
    const isBeside = parts.length > 0;
    let room = this.#limits.batchSize - parts.length;
    if (isBeside) room = Math.min(room, this.#prefillTokens());
    for (const run of shortFirst(others, room)) {
      if (room === 0) break;
      const tokens = this.#chunk(run, room, isBeside);
      room -= tokens.length;
      parts.push({ run, tokens });
    }
    return parts.sort((a, b) => a.run.sequence.id - b.run.sequence.id);
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

  /** How many tokens of prompts a step evaluates beside answers, by how long steps took. */
  #prefillTokens(): number {
    if (this.#tokenMs === undefined) return firstChunk;
    const answerMs = this.#answerMs ?? 0;
    const bounded = Math.min(Math.max(answerMs * answerSteps, shortestMs), longestMs);
    // If a single token takes seconds, a prompt still gets half of the time.
    const ms = Math.max(bounded, answerMs);
    return Math.max(smallestChunk, Math.floor(ms / this.#tokenMs));
  }

  /** Ends before the prompt's last token if a checkpoint is taken there: that token is always evaluated again. */
  #chunk(run: RunningAnswer, room: number, isBeside: boolean): Token[] {
    const { inPrefill, pending } = run;
    const stopsEarly = this.#limits.needsCheckpoints && inPrefill && pending.length > 1;
    const most = run.isScored ? (isBeside ? scoredBeside : scoredAlone) : room;
    return pending.slice(0, Math.min(room, most, pending.length - (stopsEarly ? 1 : 0)));
  }
}

export const toBatchPart = ({ run, tokens }: PlannedPart): BatchPart => ({
  sequence: run.sequence.id,
  position: run.sequence.tokens.length,
  tokens,
  output: tokens.length === run.pending.length,
  ...(run.isScored ? { scored: true } : {}),
  ...(run.answer.topLogits === undefined ? { sampler: run.answer.sampler } : {}),
});

/** A prompt that needs at most a quarter of the room does not wait behind a long one. */
function shortFirst(prompts: readonly RunningAnswer[], room: number): RunningAnswer[] {
  const isShort = ({ pending }: RunningAnswer): boolean => pending.length <= room / 4;
  return [...prompts.filter(isShort), ...prompts.filter((run) => !isShort(run))];
}

/** A chunk may take as long as this many steps of the answers alone … */
const answerSteps = 8;
/** … but no less than the first of these, and no more than the second. */
const [shortestMs, longestMs] = [200, 1000];
/** Before anything was measured. */
const firstChunk = 64;
const smallestChunk = 16;
/** Of an exponential moving average: how much the last step counts against those before. */
const weight = 0.3;

export interface Step {
  answers: number;
  promptTokens: number;
  ms: number;
}

const average = (before: number | undefined, now: number): number =>
  before === undefined ? now : before + weight * (now - before);
