/** Types of a node's models: settings, card and engine, and the sampling defaults. */
import type { ChatEngine, Sampling } from "../ports/chat-engine.ts";
import type { EmbeddingEngine } from "../ports/embedding-engine.ts";
import type { EmbeddingIdentity } from "../ports/passage-repository.ts";
import type { Reranker } from "../ports/reranker.ts";

export type ModelType = "chat" | "embedding" | "reranker";

/** The settings a loaded model runs with; node information reports them under the same names. */
export interface ModelSettings extends Omit<Sampling, "topK"> {
  promptTemplate: PromptTemplateName;
  /** Most tokens of an answer if the request sets no maximum; -1: until the context is full. */
  nPredict: number;
  nGpuLayers: number;
  ctxSize: number;
  batchSize: number;
  /** Only of a local chat model. */
  context?: ContextSettings;
}

/** How the context of a local chat model is made. */
export interface ContextSettings {
  cacheTypeK: CacheType;
  cacheTypeV: CacheType;
  flashAttention: (typeof flashAttentionModes)[number];
  lora: readonly LoraAdapter[];
}

export interface LoraAdapter {
  path: string;
  scale: number;
}

export const cacheTypes = ["f16", "q8_0", "q4_0"] as const;
export type CacheType = (typeof cacheTypes)[number];

export const flashAttentionModes = ["auto", "on", "off"] as const;

export type FittedSettings = Pick<ModelSettings, "ctxSize" | "batchSize" | "nGpuLayers">;

/** The configured settings; `auto` is replaced when the model is loaded. */
export type WantedSettings = Omit<ModelSettings, keyof FittedSettings> & {
  [Key in keyof FittedSettings]: number | "auto";
};

interface UpstreamCard {
  model: string;
  /** The server's software and version: `vLLM 0.11.0`. */
  server: string;
  /** Whether its server counts tokens, or the node estimates them. */
  tokens: "counted" | "estimated";
  /** The addresses that serve it now, without credentials. */
  urls: () => readonly string[];
}

/** What a model's files say of its weights. */
export interface WeightFacts {
  architecture: string;
  parameters: number;
  /** `Q4_K_M`, `F16` and so on. */
  quantization: string;
  bytes: number;
  layers: number;
  embeddingLength: number;
}

export interface ModelCard {
  name: string;
  type: ModelType;
  createdAt: Date;
  ownedBy: string;
  settings: ModelSettings;
  /** Absent for a model that runs upstream. */
  weights?: WeightFacts;
  /** Bytes that were free on the accelerator before it was loaded; absent: it uses none. */
  acceleratorFree?: number;
  /** Whether its template has a place for thoughts; absent: not known. */
  thinks?: boolean;
  /** Whether it reads images; absent: no. */
  vision?: boolean;
  advice?: string;
  /** Absent: it runs on this machine. */
  upstream?: UpstreamCard;
}

/** What a model can do, besides answering. */
export const capabilities = ["tools", "vision", "thinking", "embedding"] as const;

type Capability = (typeof capabilities)[number];

/** Tools work with every chat model: the node shows them, and holds calls to their schemas. */
export function capabilitiesOf({ type, vision, thinks }: ModelCard): Capability[] {
  if (type !== "chat") return type === "embedding" ? ["embedding"] : [];
  return [
    "tools",
    ...(vision === true ? (["vision"] as const) : []),
    ...(thinks === true ? (["thinking"] as const) : []),
  ];
}

/** Whether a model is in memory now. */
export interface Residence {
  state: "loaded" | "loading" | "unloaded";
  /** Memory of its process, once it is known. */
  bytes?: number;
  lastUsedAt?: Date;
  /** When it is unloaded unless it is used; absent: it is in use, or stays. */
  unloadsAt?: Date;
  /** Why it could not be loaded. */
  error?: string;
}

interface Model<Engine> extends AsyncDisposable {
  card: ModelCard;
  engine: Engine;
  /** `fp_<hex>`: changes only when the weights, the engine's build or the settings do. */
  fingerprint: string;
  /** Why it cannot answer now; absent for models that cannot fail on their own. */
  problem?: () => string | undefined;
  /** Absent for models that are never unloaded, or run upstream. */
  residence?: () => Residence;
  /** Loads it ahead of its next call. */
  load?: (signal: AbortSignal) => Promise<void>;
  /** Frees its memory until the next call; calls in progress finish first. */
  unload?: (signal: AbortSignal) => Promise<void>;
}

export interface ChatModel extends Model<ChatEngine> {
  /** Sampling settings that it ignores; default: none. */
  ignores?: readonly (keyof Sampling)[];
}

export interface EmbeddingModel extends Model<EmbeddingEngine> {
  /** Stored with every collection that it fills. */
  identity: EmbeddingIdentity;
}

export type RerankingModel = Model<Reranker>;

export type LoadedModel =
  | ({ type: "chat" } & ChatModel)
  | ({ type: "embedding" } & EmbeddingModel)
  | ({ type: "reranker" } & RerankingModel);

export function settledSettings(wanted: WantedSettings, chosen: FittedSettings): WantedSettings {
  const { ctxSize, batchSize, nGpuLayers } = wanted;
  return {
    ...wanted,
    ctxSize: ctxSize === "auto" ? chosen.ctxSize : ctxSize,
    batchSize: batchSize === "auto" ? chosen.batchSize : batchSize,
    nGpuLayers: nGpuLayers === "auto" ? chosen.nGpuLayers : nGpuLayers,
  };
}

export const contextDefaults: ContextSettings = {
  cacheTypeK: "f16",
  cacheTypeV: "f16",
  flashAttention: "auto",
  lora: [],
};

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

/** Defaults that depend on the model's family and size; the others are those of the OpenAI API. */
type ModelDefaults = Pick<
  Sampling,
  "minP" | "repeatPenalty" | "repeatLastN" | "dryMultiplier" | "dryBase" | "dryAllowedLength"
>;

/** As in llama-server, except for the window: penalties look at the whole answer. */
export const samplingDefaults: ModelDefaults = {
  minP: 0.05,
  repeatPenalty: 1,
  repeatLastN: -1,
  dryMultiplier: 0,
  dryBase: 1.75,
  dryAllowedLength: 2,
};

/** With weights of 2 bits, unlikely tokens are usually nonsense, and without them it repeats whole sentences, which DRY prevents; see bench/README.md. */
export const starterSampling: ModelDefaults = {
  ...samplingDefaults,
  minP: 0.6,
  dryMultiplier: 0.8,
};

/** No `minP`: the server's own setting applies. */
export const upstreamSampling: ModelDefaults = { ...samplingDefaults, minP: 0 };
