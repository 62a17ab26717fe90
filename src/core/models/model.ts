/** The models of a node: what each is, and where the one asked for is found. */
import { NodeError } from "../errors.ts";
import { given } from "../given.ts";
import type { ChatEngine, Sampling } from "../ports/chat-engine.ts";
import type { EmbeddingEngine } from "../ports/embedding-engine.ts";
import type { EmbeddingIdentity } from "../ports/passage-repository.ts";
import type { Reranker } from "../ports/reranker.ts";
import { quoted } from "../quoted.ts";
import type { PromptTemplateName } from "./prompt-templates.ts";

export type ModelType = "chat" | "embedding" | "reranker";

/** The settings a loaded model runs with; node information reports them under the same names. */
export interface ModelSettings {
  promptTemplate: PromptTemplateName;
  /** Most tokens an answer may have where the request is silent; -1: until the context is full. */
  nPredict: number;
  nGpuLayers: number;
  ctxSize: number;
  batchSize: number;
  temperature: number;
  topP: number;
  /** 0: off. */
  minP: number;
  repeatPenalty: number;
  presencePenalty: number;
  frequencyPenalty: number;
}

/** What can be chosen for the machine that a model runs on. */
export type FittedSettings = Pick<ModelSettings, "ctxSize" | "batchSize" | "nGpuLayers">;

/** The settings that a model is asked to run with; what is `auto` is chosen when it is loaded. */
export type WantedSettings = Omit<ModelSettings, keyof FittedSettings> & {
  [Key in keyof FittedSettings]: number | "auto";
};

/** Where a model runs that runs elsewhere. */
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
  /** Absent: it runs on this machine. */
  upstream?: UpstreamCard;
}

/** Threads that a chat model's steps run on; a step of many tokens has all that there are. */
export interface StepThreads {
  /** A step of one token. */
  one: number;
  /** A step of a few: as many answers side by side. */
  few: number;
}

/** Disposing a model gives its memory back. */
export interface ChatModel extends AsyncDisposable {
  card: ModelCard;
  engine: ChatEngine;
  /** `fp_<hex>`: changes only when the weights, the engine's build or the settings do. */
  fingerprint: string;
  threads: StepThreads;
  /** What of a request's sampling it does not act on; absent: it acts on all. */
  ignores?: readonly (keyof Sampling)[];
  /** Why it cannot answer now, where it can fail by itself. */
  problem?: () => string | undefined;
}

/** Disposing a model gives its memory back. */
export interface EmbeddingModel extends AsyncDisposable {
  card: ModelCard;
  engine: EmbeddingEngine;
  fingerprint: string;
  /** What a collection that it fills remembers of it. */
  identity: EmbeddingIdentity;
  /** Why it cannot answer now, where it can fail by itself. */
  problem?: () => string | undefined;
}

/** Disposing a model gives its memory back. */
export interface RerankingModel extends AsyncDisposable {
  card: ModelCard;
  engine: Reranker;
  fingerprint: string;
  /** Why it cannot answer now, where it can fail by itself. */
  problem?: () => string | undefined;
}

export type LoadedModel =
  | ({ type: "chat" } & ChatModel)
  | ({ type: "embedding" } & EmbeddingModel)
  | ({ type: "reranker" } & RerankingModel);

/** Every configured model by name, from the moment the node starts; each is ready once it is loaded. */
export class ModelRegistry {
  readonly #types: ReadonlyMap<string, ModelType>;
  readonly #loaded = new Map<string, LoadedModel>();
  /** Why models are not there yet, where something is in the way. */
  readonly #awaited = new Map<string, NodeError>();

  constructor(configured: readonly { name: string; type: ModelType }[]) {
    this.#types = new Map(configured.map(({ name, type }) => [name, type]));
  }

  add(model: LoadedModel): void {
    this.#loaded.set(model.card.name, model);
    this.#awaited.delete(model.card.name);
  }

  /** Says why a model is not there yet. */
  unavailable(name: string, reason: NodeError): void {
    this.#awaited.set(name, reason);
  }

  /** The cards of the models that are ready, in the order of the configuration. */
  cards(): ModelCard[] {
    return [...this.#types.keys()].flatMap((name) => this.#loaded.get(name)?.card ?? []);
  }

  /** The card of a model of any type. */
  card(name: string): ModelCard {
    const type = this.#types.get(name);
    if (type === undefined) {
      const names = [...this.#types.keys()].join(", ");
      throw new NodeError(
        "model_not_found",
        `The model ${quoted(name)} is not on this node. Its models are: ${names}.`,
        { param: "model" },
      );
    }
    return this.#find(name, type).card;
  }

  /** Why models cannot answer now, a sentence each; none where all can. */
  problems(): string[] {
    return [...this.#types.keys()].flatMap((name) => {
      const model = this.#loaded.get(name);
      const awaited = this.#awaited.get(name)?.message;
      if (model === undefined) return awaited ?? `The model '${name}' is being prepared.`;
      return model.problem?.() ?? [];
    });
  }

  chat(name: string): ChatModel {
    const model = this.#find(name, "chat");
    if (model.type !== "chat") throw this.#notFound(name, "chat");
    return model;
  }

  embedding(name: string): EmbeddingModel {
    const model = this.#find(name, "embedding");
    if (model.type !== "embedding") throw this.#notFound(name, "embedding");
    return model;
  }

  reranker(name: string): RerankingModel {
    const model = this.#find(name, "reranker");
    if (model.type !== "reranker") throw this.#notFound(name, "reranker");
    return model;
  }

  #find(name: string, wanted: ModelType): LoadedModel {
    if (this.#types.get(name) !== wanted) throw this.#notFound(name, wanted);
    const model = this.#loaded.get(name);
    const awaited = this.#awaited.get(name);
    if (model === undefined && awaited !== undefined) {
      const { kind, message, retryAfterMs } = awaited;
      throw new NodeError(kind, message, { cause: awaited, ...given({ retryAfterMs }) });
    }
    if (model === undefined) {
      throw new NodeError(
        "model_not_ready",
        `The model '${name}' is still being prepared. Try again in a moment.`,
        { param: "model" },
      );
    }
    return model;
  }

  #notFound(name: string, wanted: ModelType): NodeError {
    const names = [...this.#types].filter(([, type]) => type === wanted).map(([known]) => known);
    const has =
      names.length === 0
        ? `This node has no ${wanted} model.`
        : `The ${wanted} models of this node are: ${names.join(", ")}.`;
    const other = this.#types.get(name);
    const why = other === undefined ? "is not on this node" : `is a model of type '${other}'`;
    return new NodeError("model_not_found", `The model ${quoted(name)} ${why}. ${has}`, {
      param: "model",
    });
  }
}
