/** llama.cpp's contexts and samplers, below node-llama-cpp's own batching. */
import type {
  LlamaContext,
  LlamaEmbeddingContext,
  LlamaGrammarEvaluationState,
  LlamaModel,
  Token,
} from "node-llama-cpp";
import { NodeError } from "../../core/errors.ts";
import type { StepThreads } from "../machine/steps.ts";
import {
  type Checkpoint,
  internal,
  isAddMarkers,
  isObject,
  isRawBindings,
  isRawContext,
  isThreadsSplitter,
  type RawBindings,
  type RawContext,
  type RawSampler,
  type SamplerConfig,
  type ThreadConsumer,
  type ThreadsSplitter,
} from "./bindings.ts";

export interface BatchPart {
  sequence: number;
  position: number;
  tokens: readonly Token[];
  /** Whether the token after the last one is to be sampled. */
  output: boolean;
  /** Whether every one of the tokens has an output; the index is that of the last. */
  scored?: boolean;
}

export class NativeChatContext {
  readonly sequences: number;
  readonly batchSize: number;
  readonly contextSize: number;
  /** The sliding window of attention, if the KV cache holds only that. */
  readonly slidingWindow: number | undefined;
  /** Whether a sequence can be rewound to checkpoints only, not to any token. */
  readonly needsCheckpoints: boolean;
  readonly #context: LlamaContext;
  readonly #raw: RawContext;
  readonly #bindings: RawBindings;
  readonly #rawModel: object;
  readonly #splitter: ThreadsSplitter;
  readonly #stepThreads: StepThreads;
  #threads: ThreadConsumer | undefined;

  constructor(context: LlamaContext, model: LlamaModel, stepThreads: StepThreads) {
    this.#stepThreads = stepThreads;
    this.#context = context;
    this.#raw = internal(context, "_ctx", isRawContext);
    this.#bindings = internal(model.llama, "_bindings", isRawBindings);
    this.#splitter = internal(model.llama, "_threadsSplitter", isThreadsSplitter);
    this.#rawModel = internal(model, "_model", isObject);
    this.sequences = context.totalSequences;
    this.batchSize = context.batchSize;
    this.contextSize = context.contextSize;
    const { isHybrid, isRecurrent, swaSize } = model.fileInsights;
    this.slidingWindow = swaSize;
    this.needsCheckpoints = isHybrid || isRecurrent || swaSize !== undefined;
  }

  /** Computes a batch; returns the index of each part's output, if it has one. `steady`: tries no other number of threads. */
  async decode(parts: readonly BatchPart[], steady = false): Promise<(number | undefined)[]> {
    const total = parts.reduce((sum, { tokens }) => sum + tokens.length, 0);
    this.#raw.initBatch(total);
    const outputs = parts.map(({ sequence, position, tokens, output, scored }) => {
      const last = output ? Uint32Array.of(tokens.length - 1) : noOutput;
      const wanted = scored === true ? Uint32Array.from(tokens.keys()) : last;
      return this.#raw.addToBatch(sequence, position, Uint32Array.from(tokens), wanted).at(-1);
    });
    this.#threads ??= this.#splitter.createConsumer(this.#context.idealThreads, 1);
    const most = this.#stepThreads.threadsFor(total, steady);
    const { gpu } = this.#context.model.llama;
    const { threads, ms } = await decodeBatch(this.#raw, this.#threads, gpu, most);
    this.#stepThreads.took({ tokens: total, threads, ms, now: performance.now(), steady });
    return outputs;
  }

  releaseThreads(): void {
    this.#threads?.dispose();
    this.#threads = undefined;
  }

  makeSampler(): NativeSampler {
    return new NativeSampler(this.#raw, new this.#bindings.AddonSampler(this.#rawModel));
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

/** llama.cpp's context of an embedding model, below node-llama-cpp's own queue. */
export class NativeEmbeddingContext {
  readonly #context: LlamaEmbeddingContext;
  readonly #raw: RawContext;
  readonly #splitter: ThreadsSplitter;
  readonly #addMarkers: (tokens: Token[]) => void;

  constructor(context: LlamaEmbeddingContext) {
    const { model } = context;
    this.#context = context;
    this.#raw = internal(internal(context, "_llamaContext", isObject), "_ctx", isRawContext);
    this.#splitter = internal(model.llama, "_threadsSplitter", isThreadsSplitter);
    this.#addMarkers = internal(context, "_prepareInput", isAddMarkers).bind(context);
  }

  /** The tokens with the special tokens that the model wants around a text. */
  withMarkers(tokens: readonly Token[]): Token[] {
    const marked = [...tokens];
    this.#addMarkers(marked);
    return marked;
  }

  /** The vector of a text with its special tokens, on at most `most` threads, and the time it took. */
  async embed(
    tokens: readonly Token[],
    most: number,
  ): Promise<{ vector: Float32Array; threads: number; ms: number }> {
    this.#raw.removeTokenCellsFromSequence(0, -1, -1);
    this.#raw.initBatch(tokens.length);
    this.#raw.addToBatch(0, 0, Uint32Array.from(tokens), Uint32Array.from(tokens.keys()));
    const consumer = this.#splitter.createConsumer(most, 1);
    try {
      const step = await decodeBatch(this.#raw, consumer, this.#context.model.llama.gpu);
      return { ...step, vector: Float32Array.from(this.#raw.getEmbedding(tokens.length)) };
    } finally {
      consumer.dispose();
    }
  }
}

/** Uses the free threads of the process, at most `most`; returns how many, and the time. */
async function decodeBatch(
  raw: RawContext,
  consumer: ThreadConsumer,
  gpu: LlamaModel["llama"]["gpu"],
  most = Number.POSITIVE_INFINITY,
): Promise<{ threads: number; ms: number }> {
  const [free, handle] = await consumer.getAllocationToConsume();
  const threads = Math.min(free, most);
  try {
    raw.setThreads(threads);
    const startedAt = performance.now();
    await (gpu === "vulkan" ? inTurn(() => raw.decodeBatch()) : raw.decodeBatch());
    return { threads, ms: performance.now() - startedAt };
  } finally {
    handle[Symbol.dispose]();
  }
}

/** Vulkan's driver crashes when two contexts decode at the same time, so there they take turns. */
let lastTurn: Promise<void> = Promise.resolve();

function inTurn(work: () => Promise<void>): Promise<void> {
  const turn = lastTurn.then(work);
  lastTurn = turn.catch(() => {});
  return turn;
}

/** A token with its logit after the sampler's filters, and what turns logits into probabilities. */
export interface SampledLogits {
  token: Token;
  logit: number;
  /** The likeliest tokens and their logits, likeliest first; one at the least. */
  top: readonly (readonly [Token, number])[];
  /** Sum of exp(logit - greatest logit) over all candidates. */
  weight: number;
}

/** One a sequence, configured again for each answer. It counts what it sampled, and advances its grammar. */
export class NativeSampler {
  readonly #context: RawContext;
  readonly #raw: RawSampler;

  constructor(context: RawContext, raw: RawSampler) {
    this.#context = context;
    this.#raw = raw;
  }

  configure(config: SamplerConfig): void {
    this.#raw.applyConfig(config);
  }

  async sample(output: number): Promise<Token> {
    return sampledToken(await this.#context.sampleToken(output, this.#raw));
  }

  /** The logits of a token, whether it would be sampled or not, and of the likeliest ones. */
  async logitsOf(token: Token, output: number, top: number): Promise<SampledLogits> {
    return { ...(await this.sampleWithLogits(output, top, token)), token };
  }

  /** Samples, and returns the logits of the sampled or the wanted token, and of the likeliest ones. */
  async sampleWithLogits(output: number, top: number, wanted?: Token): Promise<SampledLogits> {
    const [token, , , logits = [], weight] = await this.#context.sampleToken(
      output,
      this.#raw,
      false,
      false,
      // At least the greatest logit is needed: probabilities are computed relative to it.
      [wanted === undefined ? [] : [wanted], false, false, wanted === undefined, Math.max(1, top)],
      true,
    );
    const pairs: [Token, number][] = [];
    for (let at = 0; at + 1 < logits.length; at += 2) {
      const [id, logit] = [logits[at], logits[at + 1]];
      if (id !== undefined && logit !== undefined) pairs.push([toToken(id), logit]);
    }
    // The sampled or wanted one comes last, whether or not it is among the likeliest.
    const own = pairs.pop();
    return { token: sampledToken(token), logit: own?.[1] ?? Number.NaN, top: pairs, weight };
  }

  dispose(): void {
    this.#raw.dispose();
  }
}

export const rawGrammarState = (state: LlamaGrammarEvaluationState): object =>
  internal(state, "_state", isObject);

function sampledToken(token: number): Token {
  if (token >= 0) return toToken(token);
  throw new NodeError("internal", "llama.cpp left no token to choose from.");
}

/** The library brands numbers that are tokens. */
const isToken = (value: number): value is Token => value >= 0;

export function toToken(value: number): Token {
  if (isToken(value)) return value;
  throw new NodeError("internal", `${value} is no token.`);
}
