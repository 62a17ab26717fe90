/** The tokenizer of a model that a caller names, and how much the model takes. */
import { NodeError } from "../errors.ts";
import type { Tokenizer } from "../ports/tokenizer.ts";
import type { ModelRegistry } from "./model-registry.ts";

export interface ModelTokenizer {
  tokenizer: Tokenizer;
  /** Tokens of the model's context. */
  contextSize: number;
}

/** A model that is missing or not ready is refused, and one whose vocabulary nobody here knows. */
export function tokenizerOf(models: ModelRegistry, name: string): ModelTokenizer {
  const { tokenizer, contextSize } = engineOf(models, name);
  if (tokenizer !== undefined) return { tokenizer, contextSize };
  throw new NodeError(
    "invalid_request",
    `The model '${name}' runs elsewhere, on a server that does not tell its tokens. Ask a model of this machine, or a tokenizer of your own.`,
    { param: "model" },
  );
}

function engineOf(
  models: ModelRegistry,
  name: string,
): { tokenizer?: Tokenizer | undefined; contextSize: number } {
  if (models.card(name).type === "chat") return models.chat(name).engine;
  const { tokenizer, maxTokens } = models.embedding(name).engine;
  return { tokenizer, contextSize: maxTokens };
}
