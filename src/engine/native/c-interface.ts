/**
 * llama.cpp's own C interface on contexts that node-llama-cpp made: threads that stay, and steps of one
 * call. See docs/decisions/2026-11-17-below-the-addon.md.
 */
import { cc } from "bun:ffi";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { platform, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Llama } from "node-llama-cpp";
import type { SamplerConfig } from "./bindings.ts";
import { int, type NativePointer, NativeStep, type StepSizes, toPointer } from "./native-step.ts";
import source from "./step.c" with { type: "text" };

/** What step.c declares was read from this release; another may have changed it. */
const knownRelease = "v0.5.0";

const symbols = {
  find_context: { args: ["napi_env", "napi_value", "napi_value"], returns: "ptr" },
  sequences_of: { args: ["ptr"], returns: "int" },
  batch_of: { args: ["ptr"], returns: "int" },
  make_threads: { args: ["int"], returns: "ptr" },
  free_threads: { args: ["ptr"], returns: "void" },
  make_step: { args: ["ptr", "int", "int", "int"], returns: "ptr" },
  free_step: { args: ["ptr"], returns: "void" },
  tokens_of: { args: ["ptr"], returns: "ptr" },
  positions_of: { args: ["ptr"], returns: "ptr" },
  outputs_of: { args: ["ptr"], returns: "ptr" },
  sequence_ids_of: { args: ["ptr"], returns: "ptr" },
  samplers_of: { args: ["ptr"], returns: "ptr" },
  sampled_of: { args: ["ptr"], returns: "ptr" },
  scores_of: { args: ["ptr"], returns: "ptr" },
  vectors_of: { args: ["ptr"], returns: "ptr" },
  run_here: { args: ["ptr", "ptr", "int", "int", "int", "int"], returns: "int" },
  run_beside: {
    args: ["napi_env", "ptr", "ptr", "int", "int", "int", "int"],
    returns: "napi_value",
  },
  times_of: { args: ["ptr"], returns: "int" },
  halt: { args: ["ptr"], returns: "void" },
  make_sampler: { args: ["ptr", "ptr", "ptr", "ptr", "ptr"], returns: "ptr" },
  free_sampler: { args: ["ptr"], returns: "void" },
  sample_at: { args: ["ptr", "ptr", "int"], returns: "int" },
  make_grammar: { args: ["ptr", "ptr"], returns: "ptr" },
  rewind_grammar: { args: ["ptr", "ptr", "int"], returns: "void" },
  free_grammar: { args: ["ptr"], returns: "void" },
} as const;

export type Functions = ReturnType<typeof cc<typeof symbols>>["symbols"];

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

export interface ChainConfig extends SamplerConfig {
  grammar?: NativePointer | undefined;
  /** Of how many of the likeliest tokens the logits are wanted; default: 0. */
  top?: number;
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

  step(context: NativePointer, sizes: StepSizes): NativeStep {
    return new NativeStep(this.#functions, context, sizes);
  }

  sampler(context: NativePointer, config: ChainConfig): NativePointer {
    const { repeatPenaltyTokens: repeated = new Uint32Array() } = config;
    // Empty arrays have no address.
    const past = new Int32Array(repeated.length + 1);
    past.set(repeated);
    const biases = biasPairs(config);
    // llama.cpp copies what it is given.
    const { make_sampler } = this.#functions;
    const sampler = make_sampler(context, config.grammar ?? null, numbersOf(config), past, biases);
    return toPointer(sampler, "llama.cpp made no sampler");
  }

  freeSampler(sampler: NativePointer): void {
    this.#functions.free_sampler(sampler);
  }

  grammar(context: NativePointer, text: string): NativePointer {
    const made = this.#functions.make_grammar(context, Buffer.from(`${text}\0`));
    return toPointer(made, "llama.cpp cannot read it");
  }

  rewindGrammar(grammar: NativePointer, tokens: readonly number[]): void {
    // Empty arrays have no address.
    this.#functions.rewind_grammar(grammar, Int32Array.from([...tokens, 0]), int(tokens.length));
  }

  freeGrammar(grammar: NativePointer): void {
    this.#functions.free_grammar(grammar);
  }

  sampleAt(sampler: NativePointer, context: NativePointer, output: number): number {
    return this.#functions.sample_at(sampler, context, int(output));
  }
}

/** In the order of step.c's `sampler_numbers`: 8 floats, then 8 whole numbers. */
function numbersOf(config: ChainConfig): Uint8Array {
  const { dryRepeatPenaltyBase = 0, dryRepeatPenaltyStrength = 0 } = config;
  const floats = [
    ...[config.temperature, config.topP ?? 1, config.minP ?? 0, config.repeatPenalty ?? 1],
    ...[config.repeatPenaltyFrequencyPenalty ?? 0, config.repeatPenaltyPresencePenalty ?? 0],
    ...[dryRepeatPenaltyStrength, dryRepeatPenaltyBase],
  ];
  const whole = [
    ...[config.topK ?? 0, config.repeatPenaltyMaxTokens ?? 0],
    ...[config.dryRepeatPenaltyAllowedLength ?? 0, config.dryRepeatPenaltyLastTokens ?? 0],
    ...[config.repeatPenaltyTokens?.length ?? 0, config.tokenBiasKeys?.length ?? 0],
    ...[config.top ?? 0, config.seed],
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
