/** A double of llama.cpp's context that keeps its batches, and answers with tokens that count up. */
import type { Token } from "node-llama-cpp";
import type { BatchPart, Decoded, DecodeOptions } from "../../src/engine/native/contexts.ts";
import type { Answer, Feed } from "../../src/engine/scheduling/answer.ts";
import type { CacheContext } from "../../src/engine/scheduling/kv-cache.ts";
import type { StepContext } from "../../src/engine/scheduling/scheduler.ts";

export class ScriptedContext implements CacheContext, StepContext {
  readonly sequences: number;
  readonly batchSize: number;
  readonly contextSize = 1024;
  readonly needsCheckpoints = false;
  attentionTile = 1;
  gatherMs = 0;
  modelBytes = 0;
  /** Every batch that was decoded. */
  readonly batches: BatchPart[][] = [];
  /** Of each of them, whether it was to be computed without another number of threads being tried. */
  readonly steady: boolean[] = [];
  /** How many tokens a step samples for each answer, if it may; 0: none. */
  times = 0;
  /** How many of them are told at once while the step goes on; 0: all at its end. */
  tells = 0;
  #isHalted = false;
  /** What was done to the KV cache cells between batches. */
  readonly cells: string[] = [];
  /** Called before a batch is decoded; what it throws is the batch's failure. */
  onDecode: (batch: readonly BatchPart[]) => void | Promise<void> = () => {};

  constructor({ sequences, batchSize }: { sequences: number; batchSize: number }) {
    this.sequences = sequences;
    this.batchSize = batchSize;
  }

  async decode(
    parts: readonly BatchPart[],
    { steady = false, mostTimes = 1, onTokens }: DecodeOptions = {},
  ): Promise<Decoded> {
    await this.onDecode(parts);
    this.steady.push(steady);
    this.batches.push(parts.map((part) => ({ ...part, tokens: [...part.tokens] })));
    const areAnswers = parts.every(({ output, tokens }) => output && tokens.length === 1);
    const sampled = this.times > 0 && areAnswers ? Math.min(this.times, mostTimes) : 0;
    // Of a scored part the index is that of its last token; the others come before it.
    const outputsWith = (tokens?: Token[]): Decoded["outputs"] =>
      parts.map(({ output, scored, tokens: of }, at) => ({
        output: scored === true ? of.length - 1 : output ? at : undefined,
        ...(tokens && { sampled: tokens.map((token) => ({ token })) }),
      }));
    if (sampled === 0) return { outputs: outputsWith(), times: 1 };
    this.#isHalted = false;
    let told = 0;
    for (; this.tells > 0 && told < sampled && !this.#isHalted; told += this.tells) {
      onTokens?.(outputsWith(promptOf(this.tells, this.nextToken + told)));
      await new Promise(setImmediate);
    }
    // One that is halted is computed once more: it was on its way.
    const times = Math.max(told, Math.min(sampled, this.#isHalted ? told + 1 : sampled));
    return { outputs: outputsWith(promptOf(times - told, this.nextToken + told)), times };
  }

  /** The first of the tokens that a step samples. */
  nextToken = 7;

  halt(): void {
    this.#isHalted = true;
  }

  releaseThreads(): void {}

  truncate(sequence: number, length: number): boolean {
    this.cells.push(`truncate ${sequence} to ${length}`);
    return true;
  }

  async copy(target: number, source: number): Promise<void> {
    this.cells.push(`copy ${source} to ${target}`);
  }

  async takeCheckpoint(): Promise<never> {
    throw new Error("not scripted");
  }

  async restore(): Promise<boolean> {
    throw new Error("not scripted");
  }

  /** Each batch as the sequences and how many tokens they had in it. */
  get shape(): [sequence: number, tokens: number][][] {
    return this.batches.map((parts) =>
      parts.map(({ sequence, tokens }) => [sequence, tokens.length]),
    );
  }
}

/** Tokens by number; the library brands them. */
const tokens = (...numbers: number[]): Token[] => numbers.filter(isToken);
const isToken = (value: number): value is Token => value >= 0;
export const promptOf = (length: number, first = 100): Token[] =>
  tokens(...Array.from({ length }, (_, at) => first + at));

/** An answer of so many tokens that counts what it was given. */
export class ScriptedAnswer implements Answer {
  readonly topLogits = undefined;
  readonly sampler = {
    sample: async (): Promise<Token> => tokens(7)[0] ?? this.#never(),
    sampleWithLogits: async (): Promise<never> => this.#never(),
  };
  paused = false;
  cachedTokens: number | undefined;
  accepted = 0;
  /** What it feeds after so many tokens instead of the last one. */
  feeds = new Map<number, Feed>();
  failure: unknown;
  onAccept: () => void = () => {};
  readonly #length: number;

  constructor(length: number) {
    this.#length = length;
  }

  get complete(): boolean {
    return this.accepted >= this.#length;
  }

  get room(): number {
    return this.#length - this.accepted;
  }

  begin(cachedTokens: number): Feed {
    this.cachedTokens = cachedTokens;
    return { tokens: [] };
  }

  accept({ token }: { token: Token }): Feed | undefined {
    this.accepted++;
    this.onAccept();
    return this.complete ? undefined : (this.feeds.get(this.accepted) ?? { tokens: [token] });
  }

  fail(reason: unknown): void {
    this.failure = reason;
  }

  #never(): never {
    throw new Error("not scripted");
  }
}
