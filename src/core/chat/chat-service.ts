/** Answers chat requests: fills in the model's defaults, adds passages and starts the engine. */
import { given } from "../given.ts";
import type { ChatModel, ModelSettings } from "../models/model.ts";
import type { ModelRegistry } from "../models/model-registry.ts";
import type {
  CallOptions,
  GenerationEvent,
  GenerationRequest,
  GenerationSettings,
  Sampling,
} from "../ports/chat-engine.ts";
import type { GroundingService } from "./grounding.ts";
import type { ImageFiles, ImageReading } from "./images.ts";
import { merge, type Numbered } from "./merge.ts";
import type { Grounding, RagRequest } from "./rag.ts";

export interface ChatRequest extends Omit<GenerationRequest, "sampling"> {
  model: string;
  /** Only the values that the caller sent; the model's settings fill in the rest. */
  sampling: Partial<Sampling>;
  choices?: number;
  rag?: RagRequest;
}

/** A request with its caller, since not every caller may see every passage and file. */
export interface CallerRequest extends ChatRequest, ImageReading {}

export interface ChatAnswer {
  model: string;
  fingerprint: string;
  choices: number;
  grounding?: Grounding;
  /** The events of all answers, as they come; each answer ends with its own `finish`. */
  events: AsyncIterable<Numbered<GenerationEvent>>;
}

export class ChatService {
  readonly #models: ModelRegistry;
  readonly #grounding: GroundingService;
  readonly #images: ImageFiles;

  constructor(models: ModelRegistry, grounding: GroundingService, images: ImageFiles) {
    this.#models = models;
    this.#grounding = grounding;
    this.#images = images;
  }

  /** The settings of a request that its model ignores, known before the answer begins. */
  ignored({ model, sampling }: Pick<ChatRequest, "model" | "sampling">): (keyof Sampling)[] {
    return ignoredBy(this.#models.chat(model), sampling);
  }

  /** Starts an answer; throws for a model that is missing or not ready, before any event. */
  async answer(request: CallerRequest, { onStart, ...options }: CallOptions): Promise<ChatAnswer> {
    const { model, sampling, choices = 1, rag, searcher, hold, ...generation } = request;
    const { card, engine, fingerprint } = this.#models.chat(model);
    const { nPredict } = card.settings;
    const maxTokens = request.maxTokens ?? (nPredict < 0 ? undefined : nPredict);
    const seen = await this.#images.read(request.messages, { searcher, hold }, options.signal);
    const { messages, grounding, stop } = await this.#grounding.ground(
      { messages: seen, tools: request.toolUse?.tools ?? [], maxTokens },
      rag,
      engine,
      { ...options, searcher },
    );
    const complete: GenerationRequest = {
      ...generation,
      messages,
      sampling: completeSampling(card.settings, sampling),
      ...given({ maxTokens, stop: withEcho(request, stop) }),
    };
    // An answer that fails ends the others too, including those that still wait for a slot.
    const abandoned = new AbortController();
    const signal = AbortSignal.any([options.signal, abandoned.signal]);
    const answers = Array.from({ length: choices }, (_, index) =>
      engine.generate(withSeedOf(complete, index), { ...options, ...given({ onStart }), signal }),
    );
    return {
      model: card.name,
      fingerprint,
      choices,
      ...given({ grounding }),
      events: merge(answers, { abandon: () => abandoned.abort() }),
    };
  }
}

export const ignoredBy = (
  { ignores = [] }: ChatModel,
  said: Partial<Sampling>,
): (keyof Sampling)[] => ignores.filter((name) => said[name] !== undefined);

/** The caller's stop texts, and one that stops the model from repeating the grounding prompt; not for tool calls and JSON. */
function withEcho(
  { stop, format = "text", toolUse }: ChatRequest,
  echo: string | undefined,
): GenerationSettings["stop"] {
  if (echo === undefined || format !== "text" || toolUse !== undefined) return stop;
  return [...(stop ?? []), echo];
}

export function completeSampling(settings: ModelSettings, said: Partial<Sampling>): Sampling {
  const { promptTemplate, nPredict, nGpuLayers, ctxSize, batchSize, context, ...sampling } =
    settings;
  return { ...sampling, topK: 0, ...said };
}

/** With one seed, all answers would be the same; each answer uses the next seed. */
export function withSeedOf<Request extends GenerationSettings>(
  request: Request,
  index: number,
): Request {
  return request.seed === undefined ? request : { ...request, seed: request.seed + index };
}
