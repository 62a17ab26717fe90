/** Schemas of tokenization, compatible with vLLM and with llama-server's names. */
import { type Static, Type as T } from "@sinclair/typebox";
import { count, ignored, nullable, openObject, orNull, rejected } from "../../wire/fields.ts";
import { FunctionTool, Message } from "../../wire/messages.ts";

const model = T.String({
  minLength: 1,
  description: "Name of a chat or an embedding model of this node.",
});

/** For fields that are rejected unless false, since they would change the tokens. */
const unlessFalse = { unless: (value: unknown) => value === false, except: "`false`" };
const ownTemplate = rejected(
  "cannot be honoured: a model's template is the one of its configuration",
  unlessFalse,
);

export const TokenizeRequest = openObject({
  model,
  prompt: nullable(T.String(), "The text."),
  content: nullable(T.String(), "The text, as llama-server calls it; in place of `prompt`."),
  messages: nullable(
    T.Array(Message, { minItems: 1 }),
    "A conversation in place of a text: its tokens are those of the chat model's template.",
  ),
  tools: nullable(
    T.Array(FunctionTool, { maxItems: 128 }),
    "Functions that the conversation offers.",
  ),
  add_special_tokens: nullable(
    T.Boolean(),
    "Whether the tokens are added that the model wants around a text. Default: true with `prompt`, false with `content`. A conversation has them by its template.",
  ),
  add_special: nullable(T.Boolean(), "The same, as llama-server calls it."),
  parse_special: nullable(
    T.Boolean(),
    "Whether special tokens that the text writes out count as such.",
    true,
  ),
  return_token_strs: nullable(
    T.Boolean(),
    "Whether `token_strs` has each token as the vocabulary writes it.",
    false,
  ),
  with_pieces: nullable(
    T.Boolean(),
    "As llama-server has it: `tokens` are objects `{id, piece}`, where a piece is text, or bytes where it is no whole character.",
    false,
  ),
  add_generation_prompt: nullable(
    T.Boolean(),
    "Whether a conversation ends where the answer begins, which it always does.",
    true,
  ),
  continue_final_message: rejected(
    "cannot be honoured: a conversation ends where the answer begins",
    unlessFalse,
  ),
  chat_template: ownTemplate,
  chat_template_kwargs: ownTemplate,
  documents: rejected("cannot be honoured: write them into 'messages'", unlessFalse),
  mm_processor_kwargs: ignored("The models read text only."),
});

export type TokenizeRequest = Static<typeof TokenizeRequest>;

const id = count();

export const TokenizeResult = T.Object({
  count: count(),
  max_model_len: count("Tokens of the model's context."),
  tokens: T.Union([
    T.Array(id),
    T.Array(T.Object({ id, piece: T.Union([T.String(), T.Array(id)]) })),
  ]),
  token_strs: orNull(T.Array(T.String())),
});

export type TokenizeResult = Static<typeof TokenizeResult>;

export const DetokenizeRequest = openObject({
  model,
  tokens: T.Array(id, { description: "Token ids of the model." }),
  skip_special_tokens: ignored("Special tokens are written out."),
});

export type DetokenizeRequest = Static<typeof DetokenizeRequest>;

export const DetokenizeResult = T.Object({
  prompt: T.String({ description: "The text; special tokens are written out." }),
  content: T.String({ description: "The same, as llama-server calls it." }),
});

export type DetokenizeResult = Static<typeof DetokenizeResult>;
