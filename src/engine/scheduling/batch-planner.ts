/**
 * Plans the next batch: the next token of every answer, or a part of prompts (chunked prefill). llama.cpp
 * computes parts of unequal length in passes of their own, so that a batch of both would be no quicker than
 * two, and each would wait for the other. Only the last token or two of a prompt run with the answers.
 */
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
  /** What prompts took while answers waited, since their last step, and in how many steps. */
  #promptMs = 0;
  #promptSteps = 0;
  #isBeside = false;
  /** How much more time prompts that have steps of their own had than the others that waited with them. */
  #aloneLeadMs = 0;
  /** What each of these that wait has had; it came with `from`. */
  #alone = new Map<RunningAnswer, { from: number; ms: number }>();
  /** With what one comes: what those that are gone have had together, or new ones would always go before. */
  #fromMs = 0;
  /** Had nothing, or a small part of what it could have had, for shorter ones: it has a step of its own once these had as much time. */
  #owed: RunningAnswer | undefined;
  /** Whose the last step of prompts was, if they wait for each other. */
  #turn: RunningAnswer | "shared" | "owed" | undefined;
  /** What the short ones took since the last step of an owed one. */
  #sharedMs = 0;
  #owedTokenMs: number | undefined;

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  /** In the order of the sequences: llama.cpp computes only neighbours in one pass. */
  plan(runs: Iterable<RunningAnswer>): PlannedPart[] {
    const ready = [...runs].filter(({ pending, answer }) => pending.length > 0 && !answer.paused);
    const decoding = ready.filter((run) => run.decodes);
    const prompts = ready.filter((run) => !run.decodes);
    const isBeside = decoding.length > 0;
    this.#isBeside = isBeside;
    const hasWaited =
      this.#promptSteps >= mostPromptSteps || this.#promptMs >= this.#longestPromptMs * nearlyAll;
    const rests = this.#restsBeside(decoding, prompts);
    const longer = prompts.filter((run) => !rests.includes(run));
    const parts =
      longer.length === 0 || (isBeside && hasWaited)
        ? [...decoding, ...rests].map((run) => ({ run, tokens: run.pending.slice(0, 1) }))
        : this.#promptParts(longer, isBeside);
    return parts.sort((a, b) => a.run.sequence.id - b.run.sequence.id);
  }

  took(step: Step): void {
    const { answers, promptTokens } = step;
    const ms = Math.min(step.ms, Math.max(longestMs, this.#usualMs(step) * mostLonger));
    if (answers > 0) {
      this.#answerMs = average(this.#answerMs, ms);
      this.#promptMs = 0;
      this.#promptSteps = 0;
      return;
    }
    if (typeof this.#turn === "object") {
      const had = this.#alone.get(this.#turn);
      if (had !== undefined) had.ms += ms;
      this.#aloneLeadMs += ms;
    } else {
      this.#aloneLeadMs -= ms;
    }
    if (this.#turn === "shared") this.#sharedMs += ms;
    if (this.#turn === "owed") this.#owedTokenMs = average(this.#owedTokenMs, ms / promptTokens);
    if (this.#isBeside) {
      this.#promptMs += ms;
      this.#promptSteps++;
    }
    // A few tokens cost nearly a whole pass over the weights, and say little about many.
    if (promptTokens >= smallestChunk) {
      this.#tokenMs = average(this.#tokenMs, ms / promptTokens);
    }
  }

  #usualMs({ answers, promptTokens }: Step): number {
    const owedTokenMs = this.#turn === "owed" ? this.#owedTokenMs : undefined;
    const tokenMs = owedTokenMs ?? this.#tokenMs ?? Number.POSITIVE_INFINITY;
    return answers > 0 ? (this.#answerMs ?? tokenMs) : promptTokens * tokenMs;
  }

  /** Prompts whose last tokens run with the answers, one in each step. */
  #restsBeside(
    answers: readonly RunningAnswer[],
    prompts: readonly RunningAnswer[],
  ): readonly RunningAnswer[] {
    const rests = answers.length > 0 ? prompts.filter(isRest) : [];
    // More prompts than answers would wait for a second step; all of them are done in one of their own.
    const areMore = rests.length > answers.length;
    return areMore && rests.every(({ pending }) => pending.length > 1) ? [] : rests;
  }

  #promptParts(prompts: readonly RunningAnswer[], isBeside: boolean): PlannedPart[] {
    const { batchSize } = this.#limits;
    this.#turn = undefined;
    const room = isBeside ? Math.min(batchSize, this.#prefillTokens()) : batchSize;
    const others = prompts.filter((run) => !runsAlone(run));
    const alone = this.#nextAlone(prompts.filter(runsAlone), others.length > 0);
    if (alone !== undefined) {
      this.#turn = alone;
      const { fresh } = alone.scheduled;
      const tokens = fresh ? this.#freshChunk(alone, room) : this.#chunk(alone, room, isBeside);
      return [{ run: alone, tokens }];
    }
    const [shorts, longs] = byLength(others, batchSize);
    const owed = others.find((run) => run === this.#owed);
    this.#owed = undefined;
    if (owed !== undefined) {
      const tokens = this.#chunk(owed, room, isBeside);
      const neededMs = tokens.length * (this.#owedTokenMs ?? this.#tokenMs ?? 0);
      if (shorts.length === 0 || this.#sharedMs >= neededMs) {
        this.#turn = "owed";
        this.#sharedMs = 0;
        return [{ run: owed, tokens }];
      }
    }
    if (shorts.length > 0 && longs.length > 0) this.#turn = "shared";
    else this.#sharedMs = 0;
    const together: PlannedPart[] = [];
    let [first, equal] = [0, Number.POSITIVE_INFINITY];
    for (const run of [...shorts, ...longs]) {
      if (together.some((part) => part.run.sequence === run.awaited)) continue;
      const tokens = this.#chunk(run, room, isBeside);
      const length = Math.min(equal, tokens.length);
      // The first goes on too: beside much shorter ones that keep coming it would have a few tokens a step.
      if (length <= first * short) continue;
      const all = [...together, { run, tokens }];
      const most = all.every((part) => completes(part, length)) ? this.#most(room) : room;
      if (together.length > 0 && length * all.length > most) continue;
      together.push({ run, tokens });
      equal = length;
      first ||= length;
    }
    const most = together.find(({ run }) => run === longs[0])?.tokens.length;
    if (most === undefined || equal <= most * short) [this.#owed] = longs;
    return together.map(({ run, tokens }) => ({ run, tokens: tokens.slice(0, equal) }));
  }

  /** The one that had the least time, unless all of them had more than the others. */
  #nextAlone(runs: readonly RunningAnswer[], hasOthers: boolean): RunningAnswer | undefined {
    for (const [run, { from, ms }] of this.#alone) {
      if (!runs.includes(run)) this.#fromMs += ms - from;
    }
    const had = runs.flatMap((run) => this.#alone.get(run)?.ms ?? []);
    const [least, most] = had.length === 0 ? [0, 0] : [Math.min(...had), Math.max(...had)];
    const from = Math.min(Math.max(this.#fromMs, least), most);
    this.#fromMs = from;
    this.#alone = new Map(runs.map((run) => [run, this.#alone.get(run) ?? { from, ms: from }]));
    if (!hasOthers || runs.length === 0) this.#aloneLeadMs = 0;
    if (this.#aloneLeadMs > 0) return undefined;
    return [...this.#alone].toSorted(([, a], [, b]) => a.ms - b.ms)[0]?.[0];
  }

  /** What prompts may take before the answers have a step, by how long theirs take. */
  get #longestPromptMs(): number {
    const answerMs = this.#answerMs ?? 0;
    const bounded = Math.min(Math.max(answerMs * answerSteps, shortestMs), longestMs);
    // If a single token takes seconds, a prompt still gets half of the time.
    return Math.max(bounded, answerMs);
  }

  /** How many tokens of prompts the rest of that time is enough for. */
  #prefillTokens(): number {
    if (this.#tokenMs === undefined) return firstChunk;
    const ms = this.#longestPromptMs - this.#promptMs;
    return Math.max(smallestChunk, Math.floor(ms / this.#tokenMs));
  }

  /** Tokens in a step if prompts are complete with them. */
  #most(room: number): number {
    return Math.min(room * mostMore, this.#limits.batchSize);
  }

  /** With a seed: whole batches, or beside answers whole tiles of these. No part but a prompt's last one has less, and that only where it has alone: rounding depends on it, and is not to depend on the time. */
  #freshChunk(run: RunningAnswer, room: number): Token[] {
    const { batchSize } = this.#limits;
    const { pending, scheduled } = run;
    const evaluated = scheduled.prompt.length - pending.length;
    const most = this.#chunk(run, batchSize, false).slice(0, batchSize - (evaluated % batchSize));
    const tokens = Math.max(Math.floor(room / tile), 1) * tile;
    return most.length - tokens < tile ? most : most.slice(0, tokens);
  }

  /** Ends before the prompt's last token if a checkpoint is taken there: that token is always evaluated again. */
  #chunk(run: RunningAnswer, room: number, isBeside: boolean): Token[] {
    const { inPrefill, pending } = run;
    const stopsEarly = this.#limits.needsCheckpoints && inPrefill && pending.length > 1;
    const scored = isBeside ? scoredBeside : scoredAlone;
    const whole = pending.length - (stopsEarly ? 1 : 0);
    // A rest of a few tokens would need a pass of its own.
    const fits = whole <= this.#most(room);
    const most = fits ? whole : room;
    return pending.slice(0, run.isScored ? Math.min(scored, most) : most);
  }
}

export const toBatchPart = ({ run, tokens }: PlannedPart): BatchPart => ({
  sequence: run.sequence.id,
  position: run.sequence.tokens.length,
  tokens,
  output: tokens.length === run.pending.length,
  ...(run.isScored ? { scored: true } : {}),
  sampler: run.answer.sampler,
});

/** How many times as many tokens as there is time for, if prompts are complete with them. */
const mostMore = 2;

/** Tokens of a prompt that are evaluated one by one with the answers', in the same pass, instead of in one of their own. */
const smallRest = 2;

const isRest = ({ inPrefill, isScored, pending, scheduled: { fresh } }: RunningAnswer): boolean =>
  inPrefill && !isScored && !fresh && pending.length <= smallRest;

/** One with a seed has the same arithmetic each time; of a scored one a step has so few tokens that others would wait long for it. */
const runsAlone = ({ isScored, scheduled: { fresh } }: RunningAnswer): boolean => fresh || isScored;

const completes = ({ run }: PlannedPart, length: number): boolean =>
  run.pending.length - length <= smallRest;

/** A prompt that needs at most this share of a batch goes before longer ones; the first of these has the next step if it got no more than this share of its part. */
const short = 1 / 4;

export const isShort = (tokens: number, batchSize: number): boolean => tokens <= batchSize * short;

function byLength(
  prompts: readonly RunningAnswer[],
  batchSize: number,
): [shorts: RunningAnswer[], longs: RunningAnswer[]] {
  const shorts = prompts.filter(({ pending }) => isShort(pending.length, batchSize));
  return [shorts, prompts.filter((run) => !shorts.includes(run))];
}

/** Prompts may take as long as this many steps of the answers … */
const answerSteps = 8;
/** … but no less than the first of these, and no more than the second. */
const [shortestMs, longestMs] = [200, 1000];
/** Prompts that come together, and differ little in length, are evaluated in one or two. */
const mostPromptSteps = 2;
/** Of that time: the rest is not worth a pass over the weights. */
const nearlyAll = 0.75;
/** Tokens that flash attention computes at once on a CPU; of fewer each one alone, with other rounding. */
const tile = 64;
/** Before anything was measured. */
const firstChunk = 64;
const smallestChunk = 16;
/** A step that takes more than this many times as long as usual, and more than `longestMs`, counts as this: the process may have been stopped, and others would wait as long once more. */
const mostLonger = 3;
/** Of an exponential moving average: how much the last step counts against those before. */
const weight = 0.3;

export interface Step {
  answers: number;
  promptTokens: number;
  ms: number;
}

const average = (before: number | undefined, now: number): number =>
  before === undefined ? now : before + weight * (now - before);
