/** What a model of a node is: its settings, its card, its engine, and the defaults of its sampling. */
import type { ChatEngine, Sampling } from "../ports/chat-engine.ts";
import type { EmbeddingEngine } from "../ports/embedding-engine.ts";
import type { EmbeddingIdentity } from "../ports/passage-repository.ts";
import type { Reranker } from "../ports/reranker.ts";

export type ModelType = "chat" | "embedding" | "reranker";

/** The settings a loaded model runs with; node information reports them under the same names. */
export interface ModelSettings extends Omit<Sampling, "topK"> {
  promptTemplate: PromptTemplateName;
  /** Most tokens an answer may have where the request is silent; -1: until the context is full. */
  nPredict: number;
  nGpuLayers: number;
  ctxSize: number;
  batchSize: number;
}

/** What can be chosen for the machine that a model runs on. */
export type FittedSettings = Pick<ModelSettings, "ctxSize" | "batchSize" | "nGpuLayers">;

/** The settings that a model is asked to run with; what is `auto` is chosen when it is loaded. */
export type WantedSettings = Omit<ModelSettings, keyof FittedSettings> & {
  [Key in keyof FittedSettings]: number | "auto";
};

export interface UpstreamCard {
  /** What it is called there. */
  model: string;
  /** What serves it, and which version: `vLLM 0.11.0`. */
  server: string;
  /** Whether its tokens are counted by its server, or estimated here. */
  tokens: "counted" | "estimated";
  /** The addresses that serve it now, without credentials. */
  urls: () => readonly string[];
}

export interface ModelCard {
  name: string;
  type: ModelType;
  /** When the model's file was made. */
  createdAt: Date;
  ownedBy: string;
  settings: ModelSettings;
  /** What would be better on this machine, where the model is a weak one. */
  advice?: string;
  /** Absent: it runs on this machine. */
  upstream?: UpstreamCard;
}

/** Disposing a model gives its memory back. */
interface Model<Engine> extends AsyncDisposable {
  card: ModelCard;
  engine: Engine;
  /** `fp_<hex>`: changes only when the weights, the engine's build or the settings do. */
  fingerprint: string;
  /** Why it cannot answer now, where it can fail by itself. */
  problem?: () => string | undefined;
}

export interface ChatModel extends Model<ChatEngine> {
  /** What of a request's sampling it does not act on; absent: it acts on all. */
  ignores?: readonly (keyof Sampling)[];
}

export interface EmbeddingModel extends Model<EmbeddingEngine> {
  /** What a collection that it fills remembers of it. */
  identity: EmbeddingIdentity;
}

export type RerankingModel = Model<Reranker>;

export type LoadedModel =
  | ({ type: "chat" } & ChatModel)
  | ({ type: "embedding" } & EmbeddingModel)
  | ({ type: "reranker" } & RerankingModel);

/** The wanted settings, with what was chosen once in the place of `auto`: it stays so. */
export function settledSettings(wanted: WantedSettings, chosen: FittedSettings): WantedSettings {
  const { ctxSize, batchSize, nGpuLayers } = wanted;
  return {
    ...wanted,
    ctxSize: ctxSize === "auto" ? chosen.ctxSize : ctxSize,
    batchSize: batchSize === "auto" ? chosen.batchSize : batchSize,
    nGpuLayers: nGpuLayers === "auto" ? chosen.nGpuLayers : nGpuLayers,
  };
}

export const promptTemplateNames = [
  "auto",
  "alpaca",
  "chatml",
  "deepseek-chat",
  "falcon-chat",
  "gemma-instruct",
  "gpt-oss",
  "llama-2-chat",
  "llama-3-chat",
  "llama-3.1-chat",
  "mistral-instruct",
  "phi-3-chat",
  "qwen",
  "vicuna-1.1-chat",
  "zephyr",
] as const;

export type PromptTemplateName = (typeof promptTemplateNames)[number];

/** What a model's family and size decide; the rest has the OpenAI API's defaults. */
type ModelDefaults = Pick<
  Sampling,
  "minP" | "repeatPenalty" | "repeatLastN" | "dryMultiplier" | "dryBase" | "dryAllowedLength"
>;

/** As llama-server has it, but for the window: penalties look at the whole answer. */
export const samplingDefaults: ModelDefaults = {
  minP: 0.05,
  repeatPenalty: 1,
  repeatLastN: -1,
  dryMultiplier: 0,
  dryBase: 1.75,
  dryAllowedLength: 2,
};

/**
 * The starter chat model has weights of 2 bits. Its tail of unlikely tokens is usually nonsense, and
 * without the tail it repeats whole sentences, which DRY prevents; see bench/README.md.
 */
export const starterSampling: ModelDefaults = {
  ...samplingDefaults,
  minP: 0.6,
  dryMultiplier: 0.8,
};

/** A server's own tail is left alone. */
export const upstreamSampling: ModelDefaults = { ...samplingDefaults, minP: 0 };
