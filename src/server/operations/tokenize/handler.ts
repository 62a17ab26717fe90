/** Texts to their tokens, and back. */
import { NodeError } from "../../../core/errors.ts";
import { type ModelRegistry, tokenizerOf } from "../../../core/models/model-registry.ts";
import type { Handler } from "../../operation.ts";
import type { DetokenizeRequest, DetokenizeResult, TokenizeRequest } from "./schema.ts";
import { toTokenizeResult, toTokenizerInput } from "./wire.ts";

interface Needs {
  models: ModelRegistry;
}

export const tokenizeText: Handler<TokenizeRequest, Needs> = async (
  { body },
  { signal },
  { models },
) => {
  const { input, field } = toTokenizerInput(body);
  const { tokenizer, contextSize } = tokenizerOf(models, body.model);
  const tokenized = await tokenizer.tokenize(input, { signal });
  if (tokenized !== undefined) {
    return { json: toTokenizeResult(tokenized, { input, contextSize }) };
  }
  throw new NodeError(
    "context_length_exceeded",
    `'${field}' has more tokens than this model's context of ${contextSize} several times over, and is not counted further. Send less at a time.`,
    { param: field },
  );
};

export const detokenizeTokens: Handler<DetokenizeRequest, Needs> = async (
  { body },
  { signal },
  { models },
) => {
  const { tokenizer } = tokenizerOf(models, body.model);
  const text = await tokenizer.detokenize(body.tokens, { signal });
  return { json: { prompt: text, content: text } satisfies DetokenizeResult };
};
