/**
 * llama.cpp's own C interface on contexts that node-llama-cpp made: threads that stay, and steps of one
 * call. See docs/decisions/2026-11-17-below-the-addon.md.
 */
import { cc, type Pointer, toArrayBuffer } from "bun:ffi";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { platform, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Llama } from "node-llama-cpp";
import type { SamplerConfig } from "./bindings.ts";
import source from "./step.c" with { type: "text" };

/** What step.c declares was read from this release; another may have changed it. */
const knownRelease = "v0.5.0";

const symbols = {
  find_context: { args: ["napi_env", "napi_value", "napi_value"], returns: "ptr" },
  sequences_of: { args: ["ptr"], returns: "int" },
  batch_of: { args: ["ptr"], returns: "int" },
  make_threads: { args: ["int"], returns: "ptr" },
  free_threads: { args: ["ptr"], returns: "void" },
  make_step: { args: ["ptr", "ptr", "int", "int", "int"], returns: "ptr" },
  free_step: { args: ["ptr"], returns: "void" },
  tokens_of: { args: ["ptr"], returns: "ptr" },
  positions_of: { args: ["ptr"], returns: "ptr" },
  outputs_of: { args: ["ptr"], returns: "ptr" },
  sequence_ids_of: { args: ["ptr"], returns: "ptr" },
  samplers_of: { args: ["ptr"], returns: "ptr" },
  sampled_of: { args: ["ptr"], returns: "ptr" },
  vectors_of: { args: ["ptr"], returns: "ptr" },
  run_here: { args: ["ptr", "int", "int", "int", "int"], returns: "int" },
  run_beside: { args: ["napi_env", "ptr", "int", "int", "int", "int"], returns: "napi_value" },
  times_of: { args: ["ptr"], returns: "int" },
  halt: { args: ["ptr"], returns: "void" },
  make_sampler: { args: ["ptr", "ptr", "ptr", "ptr"], returns: "ptr" },
  free_sampler: { args: ["ptr"], returns: "void" },
  sample_at: { args: ["ptr", "ptr", "int"], returns: "int" },
} as const;

type Functions = ReturnType<typeof cc<typeof symbols>>["symbols"];

/** Compiles it against the libraries that this process has loaded; throws where that cannot be done. */
export function openInterface(llama: Llama): CInterface {
  const { release } = llama.llamaCppRelease;
  if (release !== knownRelease) throw new Error(`llama.cpp is ${release}, not ${knownRelease}`);
  if (platform() !== "linux") throw new Error("which libraries are loaded is known on Linux only");
  const libraries = librariesIn(readFileSync("/proc/self/maps", "utf8"));
  const folder = mkdtempSync(join(tmpdir(), "paddock-step-"));
  try {
    const path = join(folder, "step.c");
    writeFileSync(path, source);
    const { symbols: functions } = cc({
      source: path,
      library: libraries.map(({ name }) => name),
      flags: libraries.map((library) => `-L${library.folder}`),
      symbols,
    });
    return new CInterface(functions);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The libraries of llama.cpp among a process's files in memory, as the linker names them: `libllama.v0.5.0.so`, or `libllama.cuda.v0.5.0.so`. */
export function librariesIn(maps: string): { name: string; folder: string }[] {
  const paths = maps.split("\n").map((line) => line.slice(line.indexOf("/")));
  return ["llama", "ggml", "ggml-base"].map((wanted) => {
    const pattern = new RegExp(`^lib${wanted}(\\.[a-z]+)?(\\.v[\\d.]+)?\\.so$`);
    const found = paths.find((path) => pattern.test(basename(path)));
    if (found === undefined) throw new Error(`lib${wanted} is not loaded`);
    return { name: basename(found, ".so").slice("lib".length), folder: dirname(found) };
  });
}

export class CInterface {
  readonly #functions: Functions;

  constructor(functions: Functions) {
    this.#functions = functions;
  }

  /** Throws if the pointer is not that of the context: what it says of itself is compared. */
  contextOf(
    holder: object,
    model: object,
    expected: { sequences: number; batchSize: number },
  ): NativePointer {
    const { find_context, sequences_of, batch_of } = this.#functions;
    // The environment has a place among the arguments, and fills it itself.
    const pointer = toPointer(find_context(undefined, holder, model), "its context was not found");
    const [sequences, batchSize] = [sequences_of(pointer), batch_of(pointer)];
    if (sequences !== expected.sequences || batchSize !== expected.batchSize) {
      throw new Error(`its context has ${sequences} sequences and batches of ${batchSize}`);
    }
    return pointer;
  }

  threads(count: number): ResidentThreads {
    return new ResidentThreads(this.#functions, count);
  }

  /** `threads`: used by its steps of more than one; those of several contexts must not overlap then. */
  step(context: NativePointer, threads: ResidentThreads, sizes: StepSizes): NativeStep {
    return new NativeStep(this.#functions, context, threads, sizes);
  }

  sampler(context: NativePointer, config: SamplerConfig): NativePointer {
    const { repeatPenaltyTokens: repeated = new Uint32Array() } = config;
    // Empty arrays have no address.
    const past = new Int32Array(repeated.length + 1);
    past.set(repeated);
    const biases = biasPairs(config);
    // llama.cpp copies what it is given.
    const sampler = this.#functions.make_sampler(context, numbersOf(config), past, biases);
    return toPointer(sampler, "llama.cpp made no sampler");
  }

  freeSampler(sampler: NativePointer): void {
    this.#functions.free_sampler(sampler);
  }

  sampleAt(sampler: NativePointer, context: NativePointer, output: number): number {
    return this.#functions.sample_at(sampler, context, int(output));
  }
}

export type NativePointer = Pointer;

/** Threads that sleep between steps instead of being started for each of them. */
export class ResidentThreads implements Disposable {
  readonly pointer: NativePointer;
  readonly #functions: Functions;

  constructor(functions: Functions, count: number) {
    this.#functions = functions;
    this.pointer = toPointer(functions.make_threads(int(count)), "the CPU backend made no threads");
  }

  /** Once nothing computes any more. */
  [Symbol.dispose](): void {
    this.#functions.free_threads(this.pointer);
  }
}

export interface StepSizes {
  /** Most tokens of a batch. */
  tokens: number;
  /** Most vectors, and numbers of each. */
  vectors?: number;
  dimension?: number;
}

export interface StepSize {
  tokens: number;
  vectors?: number;
  threads: number;
  /** If each token is the last of an answer: how many tokens may follow it; default: 1. */
  mostTimes?: number;
  /** Told now and then how many times it was computed so far, unless it is computed once. */
  onTimes?: (times: number) => void;
}

/** A step that takes no longer is worth no other thread. */
const longestHereMs = 8;
/** Of a step that is computed several times, `onTimes` is told as often as it is computed, within these bounds. */
const toldMs = { least: 8, most: 32 };
/** So much later it is computed once more at the most: its threads are chosen again. */
const longestMs = 250;

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
  readonly vectors: Float32Array;
  readonly #functions: Functions;
  readonly #step: Pointer;
  /** What a step took the last time, by its size: all of up to twice as many tokens are one. */
  readonly #lastMs = new Map<number, number>();

  constructor(
    functions: Functions,
    context: NativePointer,
    threads: ResidentThreads,
    { tokens, vectors = 0, dimension = 0 }: StepSizes,
  ) {
    this.#functions = functions;
    const made = functions.make_step(
      context,
      threads.pointer,
      int(tokens),
      int(vectors),
      int(dimension),
    );
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

  /** The token that followed the one at an index when the batch was computed for the `time`th time, from 0. */
  sampledAt(index: number, time: number, tokens: number): number {
    return this.#sampled[time * tokens + index] ?? -1;
  }

  /** Returns how many times it was computed. `mayWait`: a short step is computed in this thread, which would otherwise wake another and be woken by it. */
  async run(
    { tokens, vectors = 0, threads, mostTimes = 1, onTimes }: StepSize,
    mayWait: boolean,
  ): Promise<number> {
    const { run_here, run_beside, times_of } = this.#functions;
    const kind = Math.ceil(Math.log2(tokens));
    const lastMs = this.#lastMs.get(kind) ?? Number.POSITIVE_INFINITY;
    const times = int(Math.max(1, Math.min(mostTimes, this.#capacity / tokens)));
    const size = [int(tokens), int(vectors), int(threads), times] as const;
    const startedAt = performance.now();
    const here = mayWait && times === 1 && lastMs <= longestHereMs;
    const running: unknown = here
      ? run_here(this.#step, ...size)
      : run_beside(undefined, this.#step, ...size);
    using _ = times === 1 ? undefined : this.#watch(startedAt, lastMs, onTimes);
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

  #watch(startedAt: number, lastMs: number, onTimes: StepSize["onTimes"]): Disposable {
    let told = 0;
    const everyMs = Math.min(Math.max(lastMs, toldMs.least), toldMs.most);
    const timer = setInterval(() => {
      if (performance.now() - startedAt > longestMs) this.halt();
      const times = this.#functions.times_of(this.#step);
      if (times > told) onTimes?.(times);
      told = times;
    }, everyMs);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  [Symbol.dispose](): void {
    this.#functions.free_step(this.#step);
  }
}

const noMemory = "there is no memory for a batch";

/** A whole number that JavaScript happens to hold as a double arrives in C as 0. */
const int = (value: number): number => value | 0;

const isPointer = (value: unknown): value is Pointer => typeof value === "number" && value > 0;

function toPointer(value: unknown, otherwise: string): Pointer {
  if (isPointer(value)) return value;
  throw new Error(otherwise);
}

/** In the order of step.c's `sampler_numbers`: 8 floats, then 7 whole numbers. */
function numbersOf(config: SamplerConfig): Uint8Array {
  const { dryRepeatPenaltyBase = 0, dryRepeatPenaltyStrength = 0 } = config;
  const floats = [
    ...[config.temperature, config.topP ?? 1, config.minP ?? 0, config.repeatPenalty ?? 1],
    ...[config.repeatPenaltyFrequencyPenalty ?? 0, config.repeatPenaltyPresencePenalty ?? 0],
    ...[dryRepeatPenaltyStrength, dryRepeatPenaltyBase],
  ];
  const whole = [
    ...[config.topK ?? 0, config.repeatPenaltyMaxTokens ?? 0],
    ...[config.dryRepeatPenaltyAllowedLength ?? 0, config.dryRepeatPenaltyLastTokens ?? 0],
    ...[config.repeatPenaltyTokens?.length ?? 0, config.tokenBiasKeys?.length ?? 0, config.seed],
  ];
  const numbers = new Uint8Array((floats.length + whole.length) * 4);
  new Float32Array(numbers.buffer).set(floats);
  new Uint32Array(numbers.buffer).set(whole, floats.length);
  return numbers;
}

function biasPairs({ tokenBiasKeys = new Uint32Array(), tokenBiasValues }: SamplerConfig) {
  const pairs = new Uint32Array(Math.max(1, tokenBiasKeys.length) * 2);
  const floats = new Float32Array(pairs.buffer);
  for (const [at, token] of tokenBiasKeys.entries()) {
    pairs[at * 2] = token;
    floats[at * 2 + 1] = tokenBiasValues?.[at] ?? 0;
  }
  return pairs;
}
