/** A step of llama.cpp: what JavaScript writes before it, and reads after it or meanwhile. */
import { type Pointer, toArrayBuffer } from "bun:ffi";
import type { Functions } from "./c-interface.ts";

export type NativePointer = Pointer;

export interface StepSizes {
  /** Most tokens of a batch. */
  tokens: number;
  /** Most vectors, and numbers of each. */
  vectors?: number;
  dimension?: number;
}

/** What the log probability of a sampled token follows from. */
export interface TokenScores {
  /** Its logit after the sampler's filters. */
  logit: number;
  /** The likeliest tokens and their logits, likeliest first. */
  top: (readonly [token: number, logit: number])[];
  /** Sum of exp(logit - greatest logit) over all candidates. */
  weight: number;
}

/** Most of the likeliest tokens whose logits a step tells. */
export const mostTop = 20;
/** In step.c's `scores`: three, then as many tokens, and as many logits. */
const scoreNumbers = 3 + 2 * mostTop;

export interface StepSize {
  tokens: number;
  vectors?: number;
  threads: number;
  /** If each token is the last of an answer: how many tokens may follow it; default: 1. */
  mostTimes?: number;
  /** Told now and then how many times it was computed so far, unless it is computed once. */
  onTimes?: (times: number) => void;
}

/** `onTimes` is told of a step that is computed several times after about four of them, within these bounds. To read tokens takes a core from its threads, which wait for each other: read after each of them, steps of 20 ms took 25 where every core computes. */
const [toldSteps, leastToldMs, mostToldMs] = [4, 32, 64];
/** So much later it is computed once more at the most, as where it takes this many times as long as usual: its threads are chosen again. */
const [longestMs, mostLonger] = [1000, 2];

/** A batch in llama.cpp's memory; each array has an entry for every token. */
export class NativeStep implements Disposable {
  readonly #tokens: Int32Array;
  readonly #positions: Int32Array;
  readonly #sequences: Int32Array;
  readonly outputs: Int8Array;
  /** 0: the token after this one is not sampled. */
  readonly samplers: BigUint64Array;
  readonly #capacity: number;
  readonly #sampled: Int32Array;
  readonly #scores: ArrayBuffer;
  readonly vectors: Float32Array;
  readonly #functions: Functions;
  /** Threads that sleep between its computations instead of being started for each of them, by their number. No other step may have them: they would be paused when this one runs on others. */
  readonly #pools = new Map<number, Pointer>();
  readonly #step: Pointer;
  /** What a step took the last time, by its size: all of up to twice as many tokens are one. */
  readonly #lastMs = new Map<number, number>();

  constructor(
    functions: Functions,
    context: NativePointer,
    { tokens, vectors = 0, dimension = 0 }: StepSizes,
  ) {
    this.#functions = functions;
    const made = functions.make_step(context, int(tokens), int(vectors), int(dimension));
    this.#step = toPointer(made, noMemory);
    const bytes = (pointer: unknown, count: number): ArrayBuffer =>
      toArrayBuffer(toPointer(pointer, noMemory), 0, count);
    this.#tokens = new Int32Array(bytes(functions.tokens_of(this.#step), tokens * 4));
    this.#positions = new Int32Array(bytes(functions.positions_of(this.#step), tokens * 4));
    this.#sequences = new Int32Array(bytes(functions.sequence_ids_of(this.#step), tokens * 4));
    this.outputs = new Int8Array(bytes(functions.outputs_of(this.#step), tokens));
    this.samplers = new BigUint64Array(bytes(functions.samplers_of(this.#step), tokens * 8));
    this.#capacity = tokens;
    this.#sampled = new Int32Array(bytes(functions.sampled_of(this.#step), tokens * 4));
    this.#scores = bytes(functions.scores_of(this.#step), tokens * scoreNumbers * 4);
    this.vectors =
      vectors === 0
        ? new Float32Array()
        : new Float32Array(bytes(functions.vectors_of(this.#step), vectors * dimension * 4));
  }

  /** Writes tokens of a sequence from index `at` on, without outputs; returns the index after them. */
  add(at: number, sequence: number, position: number, tokens: readonly number[]): number {
    const end = at + tokens.length;
    this.#tokens.set(tokens, at);
    for (let index = at; index < end; index++) this.#positions[index] = position + index - at;
    this.#sequences.fill(sequence, at, end);
    this.outputs.fill(0, at, end);
    this.samplers.fill(0n, at, end);
    return end;
  }

  /** The token that followed the one at an index when the batch was computed for the `time`th time, from 0; -1: none was left to choose from. */
  sampledAt(index: number, time: number, tokens: number): number {
    return this.#sampled[time * tokens + index] ?? -1;
  }

  /** Of the same token, if its sampler was to tell them. */
  scoresAt(index: number, time: number, tokens: number): TokenScores {
    const start = (time * tokens + index) * scoreNumbers * 4;
    const [logit = Number.NaN, weight = Number.NaN] = new Float32Array(this.#scores, start, 2);
    const [count = 0] = new Int32Array(this.#scores, start + 8, 1);
    const ids = new Int32Array(this.#scores, start + 12, count);
    const logits = new Float32Array(this.#scores, start + 12 + mostTop * 4, count);
    const top = Array.from(ids, (id, at) => [id, logits[at] ?? Number.NaN] as const);
    return { logit, top, weight };
  }

  /** Returns how many times it was computed. One that took at most `waitMs` the last time is computed in this thread, which would otherwise wake another and be woken by it. */
  async run(
    { tokens, vectors = 0, threads, mostTimes = 1, onTimes }: StepSize,
    waitMs: number,
  ): Promise<number> {
    const { run_here, run_beside, times_of } = this.#functions;
    const kind = Math.ceil(Math.log2(tokens));
    const lastMs = this.#lastMs.get(kind) ?? Number.POSITIVE_INFINITY;
    const times = int(Math.max(1, Math.min(mostTimes, this.#capacity / tokens)));
    const pool = this.#pool(threads);
    // Without the pool: an address is a double, and a list with one holds nothing but doubles.
    const size = [int(tokens), int(vectors), int(threads), times] as const;
    const startedAt = performance.now();
    const here = times === 1 && lastMs <= waitMs;
    const running: unknown = here
      ? run_here(this.#step, pool, ...size)
      : run_beside(undefined, this.#step, pool, ...size);
    using _ = times === 1 ? undefined : this.#watch({ startedAt, lastMs }, onTimes);
    const result = await running;
    if (result !== 0) throw new Error(`llama.cpp cannot compute a batch (${result})`);
    const done = times_of(this.#step);
    this.#lastMs.set(kind, (performance.now() - startedAt) / done);
    return done;
  }

  /** A step that is computed several times ends after the present one. */
  halt(): void {
    this.#functions.halt(this.#step);
  }

  #watch(
    { startedAt, lastMs }: { startedAt: number; lastMs: number },
    onTimes: StepSize["onTimes"],
  ): Disposable {
    const toldMs = Math.min(Math.max(toldSteps * lastMs, leastToldMs), mostToldMs);
    let told = 0;
    const timer = setInterval(() => {
      const ms = performance.now() - startedAt;
      const times = this.#functions.times_of(this.#step);
      if (ms > longestMs || ms > mostLonger * lastMs * (times + 1)) this.halt();
      if (times > told) onTimes?.(times);
      told = times;
    }, toldMs);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  /** Null for one thread, which needs none beside it. */
  #pool(threads: number): Pointer | null {
    if (threads === 1) return null;
    const pool =
      this.#pools.get(threads) ??
      toPointer(this.#functions.make_threads(int(threads)), "the CPU backend made no threads");
    this.#pools.set(threads, pool);
    return pool;
  }

  /** Once nothing computes any more, or the context was computed without it. */
  [Symbol.dispose](): void {
    this.#functions.free_step(this.#step);
    for (const pool of this.#pools.values()) this.#functions.free_threads(pool);
  }
}

const noMemory = "there is no memory for a batch";

/** A whole number that JavaScript happens to hold as a double arrives in C as 0. */
export const int = (value: number): number => value | 0;

const isPointer = (value: unknown): value is Pointer => typeof value === "number" && value > 0;

export function toPointer(value: unknown, otherwise: string): Pointer {
  if (isPointer(value)) return value;
  throw new Error(otherwise);
}
