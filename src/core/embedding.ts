/** Embeddings: every text is checked before the first is computed. */
import { NodeError } from "./errors.ts";
import type { ModelRegistry } from "./model.ts";
import type { Embedding, EmbeddingEngine } from "./ports/embedding-engine.ts";

export class EmbeddingService {
  readonly #models: ModelRegistry;

  constructor(models: ModelRegistry) {
    this.#models = models;
  }

  async embed(
    request: {
      model: string;
      texts: readonly string[];
      /** Names the field that holds a text, for an error about it; default: `input[0]`, … */
      fieldOf?: (index: number) => string;
    },
    options: { signal: AbortSignal },
  ): Promise<{ model: string; embeddings: Embedding[] }> {
    const { card, engine } = this.#models.embedding(request.model);
    const { fieldOf = (index) => `input[${index}]` } = request;
    request.texts.forEach((text, index) => {
      checkLength(engine, text, fieldOf(index));
    });
    return { model: card.name, embeddings: await engine.embed(request.texts, options) };
  }
}

/** Refuses a text that is empty or over the model's context, naming the field that holds it. */
export function checkLength(engine: EmbeddingEngine, text: string, param: string): void {
  if (text === "") {
    throw new NodeError("invalid_request", `${param} is an empty string; give it some text.`, {
      param,
    });
  }
  const tokens = engine.countTokens(text);
  if (tokens > engine.maxTokens) {
    throw new NodeError(
      "context_length_exceeded",
      `${param} has ${tokens} tokens; this embedding model takes at most ${engine.maxTokens}. Split the text.`,
      { param },
    );
  }
}
