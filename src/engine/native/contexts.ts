/** llama.cpp's contexts and samplers, below node-llama-cpp's own batching. */
import type { Llama, LlamaContext, LlamaModel, Token } from "node-llama-cpp";
import { given } from "../../core/given.ts";
import type { StepThreads } from "../machine/steps.ts";
import {
  type Checkpoint,
  internal,
  isObject,
  isRawBindings,
  isRawContext,
  isThreadsSplitter,
  type RawBindings,
  type RawContext,
  type ThreadConsumer,
} from "./bindings.ts";
import type { DirectContext } from "./direct-context.ts";
import { NativeSampler, type SampledLogits } from "./sampler.ts";

/** On a CPU, llama.cpp's flash attention computes so many tokens of a sequence at a time; of fewer each one alone, which takes several times as long. */
export const flashAttentionTile = 64;

export interface BatchPart {
  sequence: number;
  position: number;
  tokens: readonly Token[];
  /** Whether the token after the last one is to be sampled. */
  output: boolean;
  /** Whether every one of the tokens has an output; the index is that of the last. */
  scored?: boolean;
  /** Samples the token after the last one within the step, if it can. */
  sampler?: Partial<Pick<NativeSampler, "chain" | "tellsLogits">>;
}

/** With logits only where the answer wants them. */
export type Sampled = SampledLogits | { token: Token };

/** Of a part that has an output. */
export interface PartOutput {
  /** Its index. */
  output?: number | undefined;
  /** What was sampled since it was told the last time: all but the last are evaluated already. */
  sampled?: readonly Sampled[] | undefined;
  /** Whether no token was left to choose from after these, the last of which is evaluated too. */
  isStuck?: boolean;
}

/** A batch that is ready to be computed. */
export interface PreparedStep {
  /** Returns how many times it was computed. */
  compute: (threads: number) => Promise<number>;
  outputs: () => PartOutput[];
}

export interface Decoded {
  outputs: PartOutput[];
  /** How many tokens were sampled for each part. */
  times: number;
}

export interface DecodeOptions {
  /** Whether no other number of threads is tried; default: false. */
  steady?: boolean;
  /** How many tokens may be sampled for each part, if each is one token of an answer; default: 1. */
  mostTimes?: number;
  /** Told what was sampled while more is being computed. */
  onTokens?: (outputs: readonly PartOutput[]) => void;
}

export class NativeChatContext {
  readonly sequences: number;
  readonly batchSize: number;
  readonly contextSize: number;
  /** The sliding window of attention, if the KV cache holds only that. */
  readonly slidingWindow: number | undefined;
  /** Whether a sequence can be rewound to checkpoints only, not to any token. */
  readonly needsCheckpoints: boolean;
  /** Tokens of a sequence that attention computes at once; 1: it has no such number. */
  readonly attentionTile: number;
  /** How long a prompt waits for others that come with it: an accelerator computes several in little more time than one. */
  readonly gatherMs: number;
  readonly modelBytes: number;
  readonly #context: LlamaContext;
  readonly #raw: RawContext;
  readonly #bindings: RawBindings;
  readonly #rawModel: object;
  readonly #stepThreads: StepThreads;
  readonly #direct: DirectContext | undefined;
  #threads: ThreadConsumer | undefined;

  constructor(
    context: LlamaContext,
    model: LlamaModel,
    { stepThreads, direct }: { stepThreads: StepThreads; direct?: DirectContext | undefined },
  ) {
    this.#stepThreads = stepThreads;
    this.#direct = direct;
    this.#context = context;
    this.#raw = internal(context, "_ctx", isRawContext);
    this.#bindings = internal(model.llama, "_bindings", isRawBindings);
    this.#rawModel = internal(model, "_model", isObject);
    this.sequences = context.totalSequences;
    this.batchSize = context.batchSize;
    this.contextSize = context.contextSize;
    const { isHybrid, isRecurrent, swaSize } = model.fileInsights;
    this.slidingWindow = swaSize;
    this.needsCheckpoints = isHybrid || isRecurrent || swaSize !== undefined;
    const usesTiles = model.llama.gpu === false && context.flashAttention !== false;
    this.attentionTile = usesTiles ? flashAttentionTile : 1;
    this.gatherMs = model.llama.gpu === false ? 0 : 1;
    this.modelBytes = model.size;
  }

  async decode(
    parts: readonly BatchPart[],
    { steady = false, mostTimes = 1, onTokens }: DecodeOptions = {},
  ): Promise<Decoded> {
    const total = parts.reduce((sum, { tokens }) => sum + tokens.length, 0);
    this.#threads ??= threadsOf(this.#context.model.llama, this.#context.idealThreads);
    const most = this.#stepThreads.threadsFor(total, steady);
    // Other threads may be many times slower: one step tells, and they are soon those from before.
    const isTrial = this.#stepThreads.isTrial(total, steady);
    const { gpu } = this.#context.model.llama;
    const direct = this.#direct;
    const step =
      direct === undefined
        ? this.#addonStep(parts, total)
        : direct.prepare(parts, total, {
            mostTimes: isTrial ? 1 : mostTimes,
            ...given({ onTokens }),
          });
    const { threads, ms, result: times } = await onThreads(this.#threads, step.compute, gpu, most);
    const now = performance.now();
    this.#stepThreads.took({ tokens: total, threads, ms, times, now, steady });
    return { outputs: step.outputs(), times };
  }

  /** A decode of several tokens for each part ends after the present ones. */
  halt(): void {
    this.#direct?.halt();
  }

  #addonStep(parts: readonly BatchPart[], total: number): PreparedStep {
    this.#raw.initBatch(total);
    const outputs = parts.map(({ sequence, position, tokens, output, scored }) => {
      const last = output ? Uint32Array.of(tokens.length - 1) : noOutput;
      const wanted = scored === true ? Uint32Array.from(tokens.keys()) : last;
      return this.#raw.addToBatch(sequence, position, Uint32Array.from(tokens), wanted).at(-1);
    });
    return {
      compute: async (threads) => {
        this.#raw.setThreads(threads);
        await this.#raw.decodeBatch();
        return 1;
      },
      outputs: () => outputs.map((output) => ({ output })),
    };
  }

  releaseThreads(): void {
    this.#threads?.dispose();
    this.#threads = undefined;
  }

  makeSampler(): NativeSampler {
    const raw = new this.#bindings.AddonSampler(this.#rawModel);
    return new NativeSampler(this.#raw, raw, this.#direct);
  }

  /** Removes the tokens of a sequence from `length` on; false if its kind of memory cannot. */
  truncate(sequence: number, length: number): boolean {
    if (length === 0) return this.#raw.removeTokenCellsFromSequence(sequence, -1, -1);
    if (this.slidingWindow !== undefined) {
      const first = this.#raw.getSequenceKvCacheMinPosition(sequence);
      // The cache holds the window only: what attention needs before `length` may be gone.
      if (first > Math.max(0, length - this.slidingWindow)) return false;
    }
    return this.#raw.removeTokenCellsFromSequence(sequence, length, -1);
  }

  async copy(target: number, source: number): Promise<void> {
    await this.#raw.copySequenceStateFromOtherSequence(target, source);
  }

  async takeCheckpoint(sequence: number): Promise<Checkpoint> {
    const checkpoint = new this.#bindings.AddonContextSequenceCheckpoint();
    await checkpoint.init(this.#raw, sequence);
    return checkpoint;
  }

  async restore(sequence: number, checkpoint: Checkpoint): Promise<boolean> {
    return await this.#raw.restoreCheckpoint(checkpoint, checkpoint.maxPos, sequence);
  }
}

const noOutput = new Uint32Array(0);

/** At most so many of the process's threads, while they are used. */
export const threadsOf = (llama: Llama, most: number): ThreadConsumer =>
  internal(llama, "_threadsSplitter", isThreadsSplitter).createConsumer(most, 1);

/** Computes on the free threads of the process, at most `most`; returns how many, and the time. */
export async function onThreads<Result>(
  consumer: ThreadConsumer,
  compute: (threads: number) => Promise<Result>,
  gpu: LlamaModel["llama"]["gpu"],
  most = Number.POSITIVE_INFINITY,
): Promise<{ result: Result; threads: number; ms: number }> {
  const [free, handle] = await consumer.getAllocationToConsume();
  const threads = Math.min(free, most);
  try {
    const startedAt = performance.now();
    const result = await (gpu === "vulkan" ? inTurn(() => compute(threads)) : compute(threads));
    return { result, threads, ms: performance.now() - startedAt };
  } finally {
    handle[Symbol.dispose]();
  }
}

/** Vulkan's driver crashes when two contexts decode at the same time, so there they take turns. */
let lastTurn: Promise<unknown> = Promise.resolve();

function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const turn = lastTurn.then(work);
  lastTurn = turn.catch(() => {});
  return turn;
}
