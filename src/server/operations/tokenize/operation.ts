/** POST /v1/tokenize, POST /v1/detokenize */

import { NodeError } from "../../../core/errors.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import { tokenizerOf } from "../../../core/models/model-registry.ts";
import { defineOperation } from "../../define-operation.ts";
import { modelErrors } from "../../openapi.ts";
import { tags } from "../../operation.ts";
import { DetokenizeRequest, DetokenizeResult, TokenizeRequest, TokenizeResult } from "./schema.ts";
import { toTokenizeResult, toTokenizerInput } from "./wire.ts";

type Needs = { models: ModelRegistry };

const model = "TinyLlama-1.1B-Chat-v1.0";
const tokens = [1, 365, 5288, 294, 3165, 29889];

export const tokenize = defineOperation({
  method: "POST",
  path: "/v1/tokenize",
  name: "tokenize",
  operationId: "tokenize",
  summary: "Tokenise a text",
  description:
    "The ids of a text's tokens, or of a conversation's as the model's chat template has it. Nothing is generated.",
  tag: tags.chat,
  scope: "chat",
  body: {
    name: "TokenizeRequest",
    schema: TokenizeRequest,
    example: { model, prompt: "Llamas hum." },
    lists: [{ param: "messages", limit: "maxMessages" }],
    logged: ({ model: name, prompt, content, messages }) => ({
      model: name,
      prompt: prompt ?? content ?? messages,
    }),
  },
  answer: {
    name: "TokenizeResult",
    schema: TokenizeResult,
    description: "The tokens.",
    example: { count: tokens.length, max_model_len: 2048, tokens, token_strs: null },
  },
  errors: modelErrors,
  handler: async ({ body }, { signal }, { models }: Needs) => {
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
  },
});

export const detokenize = defineOperation({
  method: "POST",
  path: "/v1/detokenize",
  name: "detokenize",
  operationId: "detokenize",
  summary: "The text of tokens",
  description: "The text that token ids stand for.",
  tag: tags.chat,
  scope: "chat",
  body: {
    name: "DetokenizeRequest",
    schema: DetokenizeRequest,
    example: { model, tokens: tokens.slice(1) },
    logged: ({ model: name, tokens: ids }) => ({ model: name, tokens: ids }),
  },
  answer: {
    name: "DetokenizeResult",
    schema: DetokenizeResult,
    description: "The text.",
    example: { prompt: "Llamas hum.", content: "Llamas hum." },
  },
  errors: modelErrors,
  handler: async ({ body }, { signal }, { models }: Needs) => {
    const { tokenizer } = tokenizerOf(models, body.model);
    const text = await tokenizer.detokenize(body.tokens, { signal });
    return { json: { prompt: text, content: text } satisfies DetokenizeResult };
  },
});
