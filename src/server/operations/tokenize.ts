/** POST /v1/tokenize and POST /v1/detokenize, compatible with vLLM and llama-server. */
import { type Static, Type as T } from "@sinclair/typebox";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { type ModelRegistry, tokenizerOf } from "../../core/models/model-registry.ts";
import type { PieceForm, TokenizedText, TokenizerInput } from "../../core/ports/tokenizer.ts";
import { modelErrors } from "../openapi.ts";
import { defineOperation, described, namedSchema } from "../operation.ts";
import * as f from "../wire/fields.ts";
import { FunctionTool, Message } from "../wire/message-schema.ts";
import { toChatMessages, toTool } from "../wire/messages.ts";

const model = f.modelName("a chat or embedding model");

/** For fields that are rejected unless false, since they would change the tokens. */
const unlessFalse = { unless: (value: unknown) => value === false, except: "`false`" };
const ownTemplate = f.rejected(
  "cannot be honoured: a model's template is part of its configuration",
  unlessFalse,
);

export const TokenizeRequest = f.openObject({
  model,
  prompt: f.nullable(T.String(), "The text."),
  content: f.nullable(T.String(), "llama-server's name for `prompt`."),
  messages: f.nullable(
    T.Array(Message, { minItems: 1 }),
    "A conversation instead of a text, tokenized with the chat model's template.",
  ),
  tools: f.nullable(T.Array(FunctionTool, { maxItems: 128 }), "Functions of the conversation."),
  add_special_tokens: f.flag(
    "Whether to add the model's special tokens around a text. Default: true with `prompt`, false with `content`. A conversation's template has its own.",
  ),
  add_special: f.flag("llama-server's name for `add_special_tokens`."),
  parse_special: f.flag("Whether special tokens in the text count as such.", true),
  return_token_strs: f.flag(
    "Whether to return `token_strs`, each token as in the vocabulary.",
    false,
  ),
  with_pieces: f.flag(
    "As in llama-server: `tokens` are objects `{id, piece}`. A piece is text, or bytes if it is not a whole character.",
    false,
  ),
  add_generation_prompt: f.flag("A conversation always ends where the answer begins.", true),
  continue_final_message: f.rejected(
    "cannot be honoured: a conversation ends where the answer begins",
    unlessFalse,
  ),
  chat_template: ownTemplate,
  chat_template_kwargs: ownTemplate,
  documents: f.rejected("cannot be honoured: write them into 'messages'", unlessFalse),
  mm_processor_kwargs: f.ignored("The models read text only."),
});

export type TokenizeRequest = Static<typeof TokenizeRequest>;

const id = f.count();

export const TokenizeResult = T.Object({
  count: f.count(),
  max_model_len: f.count("Tokens of the model's context."),
  tokens: T.Union([
    T.Array(id),
    T.Array(T.Object({ id, piece: T.Union([T.String(), T.Array(id)]) })),
  ]),
  token_strs: f.orNull(T.Array(T.String())),
});

export type TokenizeResult = Static<typeof TokenizeResult>;

export const DetokenizeRequest = f.openObject({
  model,
  tokens: T.Array(id, { description: "Token ids of the model." }),
  skip_special_tokens: f.ignored("Special tokens are written out."),
});

export const DetokenizeResult = T.Object({
  prompt: T.String({ description: "The text; special tokens are written out." }),
  content: T.String({ description: "The same, under llama-server's name." }),
});

type Needs = { models: ModelRegistry };

const exampleModel = "TinyLlama-1.1B-Chat-v1.0";
const tokens = [1, 365, 5288, 294, 3165, 29889];

export const tokenizeOperations = [
  defineOperation({
    route: "POST /v1/tokenize",
    name: "tokenize",
    operationId: "tokenize",
    summary: "Tokenize a text",
    description:
      "The token ids of a text, or of a conversation with the model's chat template. Nothing is generated.",
    tag: "Chat",
    scope: "chat",
    body: {
      ...namedSchema({ TokenizeRequest }),
      example: { model: exampleModel, prompt: "Llamas hum." },
      lists: [{ param: "messages", limit: "maxMessages" }],
      logged: ({ model: name, prompt, content, messages }) => ({
        model: name,
        prompt: prompt ?? content ?? messages,
      }),
    },
    answer: described({ TokenizeResult }, "The tokens.", {
      count: tokens.length,
      max_model_len: 2048,
      tokens,
      token_strs: null,
    }),
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
  }),
  defineOperation({
    route: "POST /v1/detokenize",
    name: "detokenize",
    operationId: "detokenize",
    summary: "Convert tokens to text",
    description: "The text of token ids.",
    tag: "Chat",
    scope: "chat",
    body: {
      ...namedSchema({ DetokenizeRequest }),
      example: { model: exampleModel, tokens: tokens.slice(1) },
      logged: ({ model: name, tokens: ids }) => ({ model: name, tokens: ids }),
    },
    answer: described({ DetokenizeResult }, "The text.", {
      prompt: "Llamas hum.",
      content: "Llamas hum.",
    }),
    errors: modelErrors,
    handler: async ({ body }, { signal }, { models }: Needs) => {
      const { tokenizer } = tokenizerOf(models, body.model);
      const text = await tokenizer.detokenize(body.tokens, { signal });
      return { json: { prompt: text, content: text } };
    },
  }),
] as const;

interface ReadInput {
  input: TokenizerInput;
  field: "prompt" | "content" | "messages";
}

const sources = ["prompt", "content", "messages"] as const;

export function toTokenizerInput(body: TokenizeRequest): ReadInput {
  const [field, second] = sources.filter((name) => (body[name] ?? null) !== null);
  if (field === undefined) throw f.refuse("prompt", "is required; or 'messages', or 'content'");
  if (second !== undefined)
    throw f.refuse(second, `cannot stand beside '${field}'; send one of them`);
  return { field, input: field === "messages" ? toChat(body) : toText(body, field) };
}

function toText(body: TokenizeRequest, field: "prompt" | "content"): TokenizerInput {
  if (body.tools) throw f.refuse("tools", "needs 'messages'");
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
    throw f.refuse(
      "add_generation_prompt",
      "cannot be false: a template ends where the answer begins",
    );
  }
  if (saidOfSpecial(body) === true) {
    const param = body.add_special_tokens ? "add_special_tokens" : "add_special";
    throw f.refuse(param, "cannot be true with 'messages': their template has the special tokens");
  }
  if (body.parse_special === false)
    throw f.refuse("parse_special", "cannot be false with 'messages'");
  const tools = body.tools?.map((tool) => toTool(tool.function));
  return {
    messages: toChatMessages(body.messages ?? []),
    ...given({ tools, pieces: toPieces(body) }),
  };
}

function saidOfSpecial(body: TokenizeRequest): boolean | undefined {
  const { add_special_tokens: one, add_special: other } = body;
  if (typeof one === "boolean" && typeof other === "boolean" && one !== other) {
    throw f.refuse("add_special", "says another thing than 'add_special_tokens'; send one of them");
  }
  return one ?? other ?? undefined;
}

function toPieces(body: TokenizeRequest): PieceForm | undefined {
  if (!body.return_token_strs) return body.with_pieces ? "text" : undefined;
  if (!body.with_pieces) return "vocabulary";
  throw f.refuse("with_pieces", "cannot stand beside 'return_token_strs'; send one of them");
}

export function toTokenizeResult(
  { tokens, pieces }: TokenizedText,
  { input: { pieces: form }, contextSize }: Pick<ReadInput, "input"> & { contextSize: number },
): TokenizeResult {
  const ids = Array.from(tokens);
  const withPieces = (): TokenizeResult["tokens"] =>
    ids.map((id, at) => {
      const piece = pieces?.[at] ?? "";
      return { id, piece: typeof piece === "string" ? piece : [...piece] };
    });
  return {
    count: ids.length,
    max_model_len: contextSize,
    tokens: form === "text" ? withPieces() : ids,
    token_strs: form === "vocabulary" ? (pieces ?? []).map(String) : null,
  };
}
