/** Makes an engine of loaded weights: contexts, a trial, and what drives them. */
import { basename } from "node:path";
import type {
  LlamaContext,
  LlamaContextOptions,
  LlamaEmbeddingContext,
  LlamaModel,
  LlamaRankingContext,
  Token,
} from "node-llama-cpp";
import { knownPrefixes } from "../core/embedding/embedding-prefixes.ts";
import { reasonOf } from "../core/errors.ts";
import type { LoadStage } from "../core/models/engine-backends.ts";
import type { ContextSettings, ModelSettings } from "../core/models/model.ts";
import type { ModelSpec } from "../core/ports/model-host.ts";
import type { EmbeddingIdentity } from "../core/ports/passage-repository.ts";
import { LlamaChatEngine } from "./chat-engine.ts";
import { LlamaEmbeddingEngine } from "./embedding-engine.ts";
import { ggmlNames } from "./gguf/model-facts.ts";
import type { Backend } from "./load-backend.ts";
import { defaultContext } from "./machine/model-memory.ts";
import { StepThreads } from "./machine/steps.ts";
import { openDirectTexts, type TextModel } from "./native/direct-text-context.ts";
import { AddonTextContext, markersOf, rankingInputOf } from "./native/text-context.ts";
import { chatWrapperFor, PromptTemplate } from "./prompt/prompt-template.ts";
import { proveChat, proveTexts, trialText } from "./prove-model.ts";
import { LlamaReranker } from "./reranker.ts";
import type { TextContexts } from "./scheduling/text-pool.ts";

/** Loaded weights, to become an engine; every `auto` setting is chosen. */
export interface Loading {
  backend: Backend;
  model: LlamaModel;
  spec: FittedSpec;
  weights: string;
  onStage: (stage: LoadStage) => void;
  /** For every context: the library forgets one that was garbage-collected, and a model's disposal then waits for it for ever. */
  keep: <Context extends Pick<LlamaContext, "dispose">>(context: Context) => Context;
}

type FittedSpec = ModelSpec & { settings: ModelSettings };

type Made = (
  | { type: "chat"; engine: LlamaChatEngine }
  | { type: "embedding"; engine: LlamaEmbeddingEngine; identity: EmbeddingIdentity }
  | { type: "reranker"; engine: LlamaReranker }
) & {
  sizes: Pick<ModelSettings, "ctxSize" | "batchSize">;
  template?: string;
  thinks?: boolean;
};

async function makeChat({ backend, model, spec, onStage, keep }: Loading): Promise<Made> {
  if (model.fileInfo.architectureMetadata.attention?.causal === false) {
    throw new Error('it is an embedding model; configure it with type = "embedding"');
  }
  const stepThreads = stepThreadsOf({ backend, model, spec });
  const { batchSize, context: wanted } = spec.settings;
  const context = await model
    .createContext({
      sequences: spec.parallel,
      contextSize: contextSize(model, spec),
      batchSize,
      threads: backend.threads,
      ...(wanted && contextOptions(wanted)),
    })
    .catch((cause: unknown) => {
      throw new Error(`${reasonOf(cause)}${wanted === undefined ? "" : demandsOf(wanted)}`, {
        cause,
      });
    });
  keep(context);
  onStage("trial");
  const direct = await proveChat(context, model, backend);
  onStage("model");
  const template = new PromptTemplate(model, chatWrapperFor(spec.settings.promptTemplate, model));
  const { maxQueue } = spec;
  const { steps } = backend;
  return {
    type: "chat",
    engine: new LlamaChatEngine(model, context, template, { maxQueue, stepThreads, steps, direct }),
    sizes: { ctxSize: context.contextSize, batchSize: context.batchSize },
    template: template.name,
    thinks: template.hasThoughts,
  };
}

/** How many threads steps run on is in the log. */
function stepThreadsOf({ backend, model, spec }: Pick<Loading, "backend" | "model" | "spec">) {
  const say = (count: number, why: string): void =>
    backend.log.info("threads of a model", { model: spec.name, threads: count, why });
  const made = new StepThreads({ size: model.size, budget: backend.threads, onChange: say });
  say(made.start.threads, made.start.why);
  return made;
}

function contextOptions(settings: ContextSettings): LlamaContextOptions {
  const { cacheTypeK, cacheTypeV, flashAttention, lora } = settings;
  return {
    experimentalKvCacheKeyType: ggmlNames[cacheTypeK],
    experimentalKvCacheValueType: ggmlNames[cacheTypeV],
    // Without the option, the library knows models that cannot.
    ...(flashAttention !== "auto" && { flashAttention: flashAttention === "on" }),
    lora: { adapters: lora.map(({ path: filePath, scale }) => ({ filePath, scale })) },
  };
}

/** What a context that cannot be made may lack: llama.cpp gives its reason to the log only. */
function demandsOf({ cacheTypeK, cacheTypeV, lora }: ContextSettings): string {
  const heads = "needs attention heads with a multiple of 32 values";
  const demands = [
    cacheTypeK === "f16" ? [] : `cache_type_k = '${cacheTypeK}' ${heads}`,
    cacheTypeV === "f16" ? [] : `cache_type_v = '${cacheTypeV}' ${heads}, and flash attention`,
    lora.length === 0 ? [] : "lora needs adapters in GGUF that were made for this model",
  ].flat();
  return demands.length === 0 ? "" : ` (${demands.join("; ")}; llama.cpp's reason is in the log)`;
}

async function makeEmbedding(loading: Loading): Promise<Made> {
  const { model, spec, weights } = loading;
  const size = contextSize(model, spec);
  const create = () =>
    // llama.cpp computes the embedding of a text in a single batch.
    model.createEmbeddingContext({ contextSize: size, batchSize: size, threads: 1 });
  const first = await create();
  const markers = markersOf(first);
  const texts = await openTexts(loading, [first, create], {
    size,
    dimension: model.embeddingVectorSize,
    trial: markers(model.tokenize(trialText)),
  });
  return {
    type: "embedding",
    engine: new LlamaEmbeddingEngine(model, { ...texts, maxTokens: size, markers }),
    identity: identityOf(model, spec, weights),
    sizes: { ctxSize: size, batchSize: size },
  };
}

async function makeReranker(loading: Loading): Promise<Made> {
  const { model, spec } = loading;
  const size = contextSize(model, spec);
  const create = () =>
    model.createRankingContext({ contextSize: size, batchSize: size, threads: 1 });
  const first = await create();
  const inputOf = rankingInputOf(first);
  const tokens = model.tokenize(trialText);
  const texts = await openTexts(loading, [first, create], {
    size,
    ranks: true,
    dimension: 1,
    trial: inputOf(tokens, tokens).slice(0, size),
  });
  return {
    type: "reranker",
    engine: new LlamaReranker(model, { ...texts, maxTokens: size, inputOf }),
    sizes: { ctxSize: size, batchSize: size },
  };
}

/** The contexts of a model that reads texts, through the C interface if that works: `first`, or as many as there are threads. */
async function openTexts<Context extends LlamaEmbeddingContext | LlamaRankingContext>(
  loading: Loading,
  [first, create]: [Context, () => Promise<Context>],
  { trial, ...texts }: TextModel & { trial: readonly Token[] },
): Promise<TextContexts> {
  const { backend, onStage, keep } = loading;
  const { threads, steps, servesModelsAlone: mayWait } = backend;
  const open = (context: Context) => new AddonTextContext(keep(context), texts.dimension);
  const tried = open(first);
  onStage("trial");
  const proof = await proveTexts(tried, trial, backend);
  onStage("model");
  const direct = await openDirectTexts(loading, texts, proof);
  if (direct !== undefined) await tried.dispose();
  const addon = async () =>
    await Promise.all(Array.from({ length: threads - 1 }, async () => open(await create())));
  const stepThreads = stepThreadsOf(loading);
  const contexts = direct ?? { contexts: [tried, ...(await addon())] as const };
  return { ...contexts, threads, stepThreads, steps, mayWait };
}

/** By the type of a model. */
export const makers = { chat: makeChat, embedding: makeEmbedding, reranker: makeReranker } as const;

/** A collection outlives engine builds and settings, so its identity is that of the weights alone. */
function identityOf(
  model: LlamaModel,
  { name, path, prefixes = {} }: ModelSpec,
  weights: string,
): EmbeddingIdentity {
  const { name: ownName, basename: family } = model.fileInfo.metadata.general;
  const known = knownPrefixes([name, ownName ?? "", family ?? "", basename(path)]);
  return {
    model: name,
    fingerprint: weights.slice(0, 32),
    queryPrefix: prefixes.query ?? known.query,
    documentPrefix: prefixes.document ?? known.document,
  };
}

function contextSize(model: LlamaModel, { settings, type }: FittedSpec): number {
  if (settings.ctxSize === 0) return defaultContext(model.trainContextSize, type);
  if (settings.ctxSize > model.trainContextSize) {
    throw new Error(
      `ctx_size is ${settings.ctxSize}, but it was trained on ${model.trainContextSize} tokens`,
    );
  }
  return settings.ctxSize;
}
