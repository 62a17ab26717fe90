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
  const { type } = models.card(name);
  if (type === "chat") return models.chat(name).engine;
  if (type === "reranker") throw notTokenized(models, name);
  const { tokenizer, maxTokens } = models.embedding(name).engine;
  return { tokenizer, contextSize: maxTokens };
}

function notTokenized(models: ModelRegistry, name: string): NodeError {
  const others = models.cards().filter(({ type }) => type !== "reranker");
  const has =
    others.length === 0
      ? "This node has no chat or embedding model that is ready."
      : `The chat and embedding models of this node are: ${others.map((card) => card.name).join(", ")}.`;
  return new NodeError(
    "model_not_found",
    `The model '${name}' is a model of type 'reranker'. ${has}`,
    { param: "model" },
  );
}
