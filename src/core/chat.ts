/** Chat: the request as the caller meant it, made complete with the model's own defaults. */
import type { ModelRegistry } from "./model.ts";
import type { ChatMessage, GenerationEvent, Sampling } from "./ports/chat-engine.ts";

export interface ChatRequest {
  model: string;
  messages: readonly ChatMessage[];
  /** Only what the caller said; the model's settings fill the rest. */
  sampling: Partial<Sampling>;
  maxTokens?: number;
}

export interface ChatAnswer {
  model: string;
  fingerprint: string;
  events: AsyncIterable<GenerationEvent>;
}

export class ChatService {
  readonly #models: ModelRegistry;

  constructor(models: ModelRegistry) {
    this.#models = models;
  }

  /** Starts an answer; a model that is missing or not ready is refused here, before any event. */
  answer(request: ChatRequest, options: { signal: AbortSignal }): ChatAnswer {
    const { card, engine, fingerprint } = this.#models.chat(request.model);
    const { temperature, topP, presencePenalty, frequencyPenalty, repeatPenalty, nPredict } =
      card.settings;
    const maxTokens = request.maxTokens ?? (nPredict < 0 ? undefined : nPredict);
    const events = engine.generate(
      {
        messages: request.messages,
        sampling: {
          temperature,
          topP,
          presencePenalty,
          frequencyPenalty,
          repeatPenalty,
          ...request.sampling,
        },
        ...(maxTokens === undefined ? {} : { maxTokens }),
      },
      options,
    );
    return { model: card.name, fingerprint, events };
  }
}
