/**
 * llama.cpp's context below node-llama-cpp's own batching. This is the one place that touches what
 * the library keeps to itself. It is checked when a model is loaded, so that another release of the
 * library fails there with a sentence, not amid an answer.
 */
import type {
  LlamaContext,
  LlamaEmbeddingContext,
  LlamaGrammarEvaluationState,
  LlamaModel,
  Token,
} from "node-llama-cpp";
import { NodeError } from "../core/errors.ts";
import type { StepThreads } from "../core/models/model.ts";

/** Up to so many tokens in a step are few: the threads that suit them are measured. */
export const fewTokens = 4;

/** Tokens of one sequence in a batch. */
export interface BatchPart {
  sequence: number;
  /** Where the first of the tokens stands in the sequence. */
  position: number;
  tokens: readonly Token[];
  /** Whether the token after the last one is to be sampled. */
  output: boolean;
}

export interface SamplerConfig {
  /** 0: always the likeliest token. */
  temperature: number;
  seed: number;
  topK?: number;
  topP?: number;
  minP?: number;
  repeatPenalty?: number;
  repeatPenaltyMaxTokens?: number;
  repeatPenaltyTokens?: Uint32Array;
  repeatPenaltyPresencePenalty?: number;
  repeatPenaltyFrequencyPenalty?: number;
  tokenBiasKeys?: Uint32Array;
  tokenBiasValues?: Float32Array;
  grammarEvaluationState?: object;
}

/** A token with its logit after the sampler's filters, and what makes logits into probabilities. */
export interface SampledLogits {
  token: Token;
  logit: number;
  /** The likeliest tokens and their logits, likeliest first; one at the least. */
  top: readonly (readonly [Token, number])[];
  /** Sum of exp(logit - greatest logit) over all candidates. */
  weight: number;
}

/** A state that a sequence can go back to. */
export interface Checkpoint {
  /** How many tokens the sequence held. */
  readonly length: number;
  dispose(): void;
}

interface RawSampler {
  applyConfig(config: SamplerConfig): void;
  dispose(): void;
}

interface RawCheckpoint {
  init(context: RawContext, sequence: number): Promise<void>;
  dispose(): void;
  readonly maxPos: number;
}

interface RawContext {
  initBatch(size: number): void;
  addToBatch(
    sequence: number,
    position: number,
    tokens: Uint32Array,
    outputs: Uint32Array,
  ): Uint32Array;
  decodeBatch(): Promise<void>;
  sampleToken(output: number, sampler: RawSampler): Promise<number>;
  sampleToken(
    output: number,
    sampler: RawSampler,
    probabilities: boolean,
    confidence: boolean,
    logits: [tokens: Token[], max: boolean, min: boolean, selected: boolean, top: number],
    weight: boolean,
  ): Promise<[token: number, unknown, unknown, logits: number[], weight: number]>;
  removeTokenCellsFromSequence(sequence: number, start: number, end: number): boolean;
  getSequenceKvCacheMinPosition(sequence: number): number;
  copySequenceStateFromOtherSequence(target: number, source: number): Promise<number>;
  restoreCheckpoint(checkpoint: RawCheckpoint, last: number, sequence: number): Promise<boolean>;
  getEmbedding(tokens: number): Float64Array;
  setThreads(threads: number): void;
}

interface RawBindings {
  AddonSampler: new (model: object) => RawSampler;
  AddonContextSequenceCheckpoint: new () => RawCheckpoint;
}

interface ThreadConsumer {
  getAllocationToConsume(): Promise<[number, Disposable]> | [number, Disposable];
  dispose(): void;
}

interface ThreadsSplitter {
  createConsumer(wanted: number, least: number): ThreadConsumer;
}

export class NativeContext {
  readonly sequences: number;
  readonly batchSize: number;
  readonly contextSize: number;
  /** The sliding window of attention, where the KV cache keeps no more than that. */
  readonly slidingWindow: number | undefined;
  /** Whether a sequence can go back only to a state that was kept. */
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

  /** Computes a batch; for each of its parts that has an output, where that is. */
  async decode(parts: readonly BatchPart[]): Promise<(number | undefined)[]> {
    const total = parts.reduce((sum, { tokens }) => sum + tokens.length, 0);
    this.#raw.initBatch(total);
    const outputs = parts.map(({ sequence, position, tokens, output }) => {
      const wanted = output ? Uint32Array.of(tokens.length - 1) : noOutput;
      return this.#raw.addToBatch(sequence, position, Uint32Array.from(tokens), wanted)[0];
    });
    this.#threads ??= this.#splitter.createConsumer(this.#context.idealThreads, 1);
    const { one, few } = this.#stepThreads;
    const most = total === 1 ? one : total <= fewTokens ? few : undefined;
    await decodeBatch(this.#raw, this.#threads, this.#context.model.llama.gpu, most);
    return outputs;
  }

  /** Leaves the threads to others until the next batch. */
  rest(): void {
    this.#threads?.dispose();
    this.#threads = undefined;
  }

  makeSampler(): NativeSampler {
    return new NativeSampler(this.#raw, new this.#bindings.AddonSampler(this.#rawModel));
  }

  /** Removes what a sequence holds from `length` on; false where its kind of memory cannot. */
  truncate(sequence: number, length: number): boolean {
    if (length === 0) return this.#raw.removeTokenCellsFromSequence(sequence, -1, -1);
    if (this.slidingWindow !== undefined) {
      const first = this.#raw.getSequenceKvCacheMinPosition(sequence);
      // What the window needs of the tokens before may be gone.
      if (first > Math.max(0, length - this.slidingWindow)) return false;
    }
    return this.#raw.removeTokenCellsFromSequence(sequence, length, -1);
  }

  /** Makes one sequence hold what another holds. */
  async copy(target: number, source: number): Promise<void> {
    await this.#raw.copySequenceStateFromOtherSequence(target, source);
  }

  async takeCheckpoint(sequence: number): Promise<Checkpoint> {
    const checkpoint = new this.#bindings.AddonContextSequenceCheckpoint();
    await checkpoint.init(this.#raw, sequence);
    return new SequenceCheckpoint(checkpoint);
  }

  /** Whether the sequence holds again what it held at the checkpoint. */
  async restore(sequence: number, checkpoint: Checkpoint): Promise<boolean> {
    if (!(checkpoint instanceof SequenceCheckpoint)) return false;
    return await this.#raw.restoreCheckpoint(checkpoint.raw, checkpoint.raw.maxPos, sequence);
  }
}

/** A context that turns one text after the other into a vector. */
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

  /** The tokens with the markers that the model wants around a text. */
  withMarkers(tokens: readonly Token[]): Token[] {
    const marked = [...tokens];
    this.#addMarkers(marked);
    return marked;
  }

  /** The vector of a text, whose markers are in place, computed on at most so many threads. */
  async embed(tokens: readonly Token[], threads: number): Promise<Float32Array> {
    this.#raw.removeTokenCellsFromSequence(0, -1, -1);
    this.#raw.initBatch(tokens.length);
    this.#raw.addToBatch(0, 0, Uint32Array.from(tokens), Uint32Array.from(tokens.keys()));
    const consumer = this.#splitter.createConsumer(threads, 1);
    try {
      await decodeBatch(this.#raw, consumer, this.#context.model.llama.gpu);
    } finally {
      consumer.dispose();
    }
    return Float32Array.from(this.#raw.getEmbedding(tokens.length));
  }
}

/** Decodes on as many threads as the process has left for it. */
async function decodeBatch(
  raw: RawContext,
  consumer: ThreadConsumer,
  gpu: LlamaModel["llama"]["gpu"],
  most = Number.POSITIVE_INFINITY,
): Promise<void> {
  const [threads, handle] = await consumer.getAllocationToConsume();
  try {
    raw.setThreads(Math.min(threads, most));
    await oneAtATime(gpu === "vulkan", () => raw.decodeBatch());
  } finally {
    handle[Symbol.dispose]();
  }
}

class SequenceCheckpoint implements Checkpoint {
  readonly raw: RawCheckpoint;
  readonly length: number;

  constructor(raw: RawCheckpoint) {
    this.raw = raw;
    this.length = raw.maxPos + 1;
  }

  dispose(): void {
    this.raw.dispose();
  }
}

/** llama.cpp's chain of samplers; it counts what it sampled for penalties and advances its grammar. */
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

  /** Samples, and tells the logits of the sampled token and of the likeliest. */
  async sampleWithLogits(output: number, top: number): Promise<SampledLogits> {
    const [token, , , logits = [], weight] = await this.#context.sampleToken(
      output,
      this.#raw,
      false,
      false,
      // The greatest logit is always wanted: the others are measured against it.
      [[], false, false, true, Math.max(1, top)],
      true,
    );
    const pairs: [Token, number][] = [];
    for (let at = 0; at + 1 < logits.length; at += 2) {
      const [id, logit] = [logits[at], logits[at + 1]];
      if (id !== undefined && logit !== undefined) pairs.push([toToken(id), logit]);
    }
    // The sampled one comes last, whether or not it is among the likeliest.
    const own = pairs.pop();
    return { token: sampledToken(token), logit: own?.[1] ?? Number.NaN, top: pairs, weight };
  }

  dispose(): void {
    this.#raw.dispose();
  }
}

/** A grammar's state as the sampler takes it. */
export const rawGrammarState = (state: LlamaGrammarEvaluationState): object =>
  internal(state, "_state", isObject);

function sampledToken(token: number): Token {
  if (token >= 0) return toToken(token);
  throw new NodeError("internal", "llama.cpp left no token to choose from.");
}

/** The library brands numbers that are tokens. */
const isToken = (value: number): value is Token => value >= 0;

function toToken(value: number): Token {
  if (isToken(value)) return value;
  throw new NodeError("internal", `${value} is no token.`);
}

const noOutput = new Uint32Array(0);

/** Vulkan's driver ends the process when two contexts decode at the same time. */
let vulkanIsBusy: Promise<void> = Promise.resolve();

async function oneAtATime(needed: boolean, work: () => Promise<void>): Promise<void> {
  if (!needed) return await work();
  const before = vulkanIsBusy;
  const { promise, resolve } = Promise.withResolvers<void>();
  vulkanIsBusy = promise;
  await before;
  try {
    await work();
  } finally {
    resolve();
  }
}

/** What the library keeps under a name of its own, if it is what it was. */
function internal<Kind>(
  holder: object,
  name: string,
  isKind: (value: unknown) => value is Kind,
): Kind {
  const value: unknown = Reflect.get(holder, name);
  if (isKind(value)) return value;
  throw new Error(
    `node-llama-cpp has no '${name}' of the kind that this program drives (engine/native-context.ts); install the version that bun.lock names`,
  );
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const hasMethods = (value: unknown, names: readonly string[]): boolean =>
  isObject(value) && names.every((name) => typeof Reflect.get(value, name) === "function");

const isRawContext = (value: unknown): value is RawContext =>
  hasMethods(value, [
    "initBatch",
    "addToBatch",
    "decodeBatch",
    "sampleToken",
    "removeTokenCellsFromSequence",
    "getSequenceKvCacheMinPosition",
    "copySequenceStateFromOtherSequence",
    "restoreCheckpoint",
    "getEmbedding",
    "setThreads",
  ]);

const isRawBindings = (value: unknown): value is RawBindings =>
  hasMethods(value, ["AddonSampler", "AddonContextSequenceCheckpoint"]);

const isAddMarkers = (value: unknown): value is (tokens: Token[]) => void =>
  typeof value === "function";

const isThreadsSplitter = (value: unknown): value is ThreadsSplitter =>
  hasMethods(value, ["createConsumer"]);
