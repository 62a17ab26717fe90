/** What node-llama-cpp keeps to itself, as types that are checked when a model is loaded. Only this folder touches it. */
import type { Token } from "node-llama-cpp";

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
  dryRepeatPenaltyStrength?: number;
  dryRepeatPenaltyBase?: number;
  dryRepeatPenaltyAllowedLength?: number;
  dryRepeatPenaltyLastTokens?: number;
  dryRepeatPenaltySequenceBreakers?: string[];
  tokenBiasKeys?: Uint32Array;
  tokenBiasValues?: Float32Array;
  grammarEvaluationState?: object;
}

export interface RawSampler {
  applyConfig(config: SamplerConfig): void;
  dispose(): void;
}

/** What a sequence holds up to a token. */
export interface Checkpoint {
  init(context: RawContext, sequence: number): Promise<void>;
  dispose(): void;
  readonly maxPos: number;
}

export interface RawContext {
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
  restoreCheckpoint(checkpoint: Checkpoint, last: number, sequence: number): Promise<boolean>;
  getEmbedding(tokens: number, mostDimension: number): Float64Array;
  setThreads(threads: number): void;
}

export interface RawBindings {
  AddonSampler: new (model: object) => RawSampler;
  AddonContextSequenceCheckpoint: new () => Checkpoint;
}

export interface ThreadConsumer extends Disposable {
  getAllocationToConsume(): Promise<[number, Disposable]> | [number, Disposable];
  dispose(): void;
}

export interface ThreadsSplitter {
  createConsumer(wanted: number, least: number): ThreadConsumer;
}

/** A private property of the library's object; throws if it is not what this program expects. */
export function internal<Kind>(
  holder: object,
  name: string,
  isKind: (value: unknown) => value is Kind,
): Kind {
  const value: unknown = Reflect.get(holder, name);
  if (isKind(value)) return value;
  throw new Error(
    `node-llama-cpp has no '${name}' of the kind that this program drives (engine/native/bindings.ts); install the version that bun.lock names`,
  );
}

export const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null;

const hasMethods = (value: unknown, names: readonly string[]): boolean =>
  isObject(value) && names.every((name) => typeof Reflect.get(value, name) === "function");

export const isRawContext = (value: unknown): value is RawContext =>
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

export const isRawBindings = (value: unknown): value is RawBindings =>
  hasMethods(value, ["AddonSampler", "AddonContextSequenceCheckpoint"]);

export const isAddMarkers = (value: unknown): value is (tokens: Token[]) => void =>
  typeof value === "function";

export const isRankingInput = (
  value: unknown,
): value is (question: readonly Token[], passage: readonly Token[]) => Token[] =>
  typeof value === "function";

export const isThreadsSplitter = (value: unknown): value is ThreadsSplitter =>
  hasMethods(value, ["createConsumer"]);
