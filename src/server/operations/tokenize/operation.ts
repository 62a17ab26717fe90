/** POST /v1/tokenize and POST /v1/detokenize */
import { NodeError } from "../../../core/errors.ts";
import { given } from "../../../core/given.ts";
import { type ModelRegistry, tokenizerOf } from "../../../core/models/model-registry.ts";
import type { PieceForm, TokenizedText, TokenizerInput } from "../../../core/ports/tokenizer.ts";
import { modelErrors } from "../../openapi.ts";
import { defineOperation, namedSchema, tags } from "../../operation.ts";
import { refuse } from "../../wire/fields.ts";
import { toChatMessages, toTool } from "../../wire/messages.ts";
import { DetokenizeRequest, DetokenizeResult, TokenizeRequest, TokenizeResult } from "./schema.ts";

type Needs = { models: ModelRegistry };

const model = "TinyLlama-1.1B-Chat-v1.0";
const tokens = [1, 365, 5288, 294, 3165, 29889];

const tokenize = defineOperation({
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
    ...namedSchema({ TokenizeRequest }),
    example: { model, prompt: "Llamas hum." },
    lists: [{ param: "messages", limit: "maxMessages" }],
    logged: ({ model: name, prompt, content, messages }) => ({
      model: name,
      prompt: prompt ?? content ?? messages,
    }),
  },
  answer: {
    ...namedSchema({ TokenizeResult }),
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

const detokenize = defineOperation({
  method: "POST",
  path: "/v1/detokenize",
  name: "detokenize",
  operationId: "detokenize",
  summary: "The text of tokens",
  description: "The text that token ids stand for.",
  tag: tags.chat,
  scope: "chat",
  body: {
    ...namedSchema({ DetokenizeRequest }),
    example: { model, tokens: tokens.slice(1) },
    logged: ({ model: name, tokens: ids }) => ({ model: name, tokens: ids }),
  },
  answer: {
    ...namedSchema({ DetokenizeResult }),
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

export const tokenizeOperations = [tokenize, detokenize] as const;

/** The input, and the field that it was sent in. */
interface ReadInput {
  input: TokenizerInput;
  field: "prompt" | "content" | "messages";
}

const sources = ["prompt", "content", "messages"] as const;

export function toTokenizerInput(body: TokenizeRequest): ReadInput {
  const sent = sources.filter((name) => body[name] !== null && body[name] !== undefined);
  const [field, second] = sent;
  if (field === undefined) throw refuse("prompt", "is required; or 'messages', or 'content'");
  if (second !== undefined)
    throw refuse(second, `cannot stand beside '${field}'; send one of them`);
  return { field, input: field === "messages" ? toChat(body) : toText(body, field) };
}

function toText(body: TokenizeRequest, field: "prompt" | "content"): TokenizerInput {
  if (body.tools) throw refuse("tools", "needs 'messages'");
  return {
    text: body[field] ?? "",
    // The defaults of vLLM (`prompt`) and llama-server (`content`).
    addSpecial: saidOfSpecial(body) ?? field === "prompt",
    parseSpecial: body.parse_special ?? true,
    ...given({ pieces: toPieces(body) }),
  };
}

function toChat(body: TokenizeRequest): TokenizerInput {
  if (body.add_generation_prompt === false) {
    throw refuse(
      "add_generation_prompt",
      "cannot be false: a template ends where the answer begins",
    );
  }
  if (saidOfSpecial(body) === true) {
    const param = body.add_special_tokens ? "add_special_tokens" : "add_special";
    throw refuse(param, "cannot be true with 'messages': their template has the special tokens");
  }
  if (body.parse_special === false)
    throw refuse("parse_special", "cannot be false with 'messages'");
  const tools = body.tools?.map(toTool);
  return {
    messages: toChatMessages(body.messages ?? []),
    ...given({ tools, pieces: toPieces(body) }),
  };
}

function saidOfSpecial(body: TokenizeRequest): boolean | undefined {
  const { add_special_tokens: one, add_special: other } = body;
  if (typeof one === "boolean" && typeof other === "boolean" && one !== other) {
    throw refuse("add_special", "says another thing than 'add_special_tokens'; send one of them");
  }
  return one ?? other ?? undefined;
}

function toPieces({ return_token_strs: strings, with_pieces: pieces }: TokenizeRequest) {
  if (strings && pieces) {
    throw refuse("with_pieces", "cannot stand beside 'return_token_strs'; send one of them");
  }
  const form: PieceForm | undefined = strings ? "vocabulary" : pieces ? "text" : undefined;
  return form;
}

export function toTokenizeResult(
  { tokens, pieces }: TokenizedText,
  { input: { pieces: form }, contextSize }: Pick<ReadInput, "input"> & { contextSize: number },
): TokenizeResult {
  const ids = Array.from(tokens);
  const withPieces = (): TokenizeResult["tokens"] =>
    ids.map((id, at) => ({ id, piece: toPiece(pieces?.[at] ?? "") }));
  return {
    count: ids.length,
    max_model_len: contextSize,
    tokens: form === "text" ? withPieces() : ids,
    token_strs: form === "vocabulary" ? (pieces ?? []).map(String) : null,
  };
}

const toPiece = (piece: string | readonly number[]): string | number[] =>
  typeof piece === "string" ? piece : [...piece];
