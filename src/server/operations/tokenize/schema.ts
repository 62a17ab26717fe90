/** Schemas of tokenization, compatible with vLLM and with llama-server's names. */
import { type Static, Type as T } from "@sinclair/typebox";
import {
  count,
  flag,
  ignored,
  modelName,
  nullable,
  openObject,
  orNull,
  rejected,
} from "../../wire/fields.ts";
import { FunctionTool, Message } from "../../wire/messages.ts";

const model = modelName("a chat or embedding model");

/** For fields that are rejected unless false, since they would change the tokens. */
const unlessFalse = { unless: (value: unknown) => value === false, except: "`false`" };
const ownTemplate = rejected(
  "cannot be honoured: a model's template is part of its configuration",
  unlessFalse,
);

export const TokenizeRequest = openObject({
  model,
  prompt: nullable(T.String(), "The text."),
  content: nullable(T.String(), "llama-server's name for `prompt`."),
  messages: nullable(
    T.Array(Message, { minItems: 1 }),
    "A conversation instead of a text, tokenized with the chat model's template.",
  ),
  tools: nullable(T.Array(FunctionTool, { maxItems: 128 }), "Functions of the conversation."),
  add_special_tokens: flag(
    "Whether to add the model's special tokens around a text. Default: true with `prompt`, false with `content`. A conversation's template has its own.",
  ),
  add_special: flag("llama-server's name for `add_special_tokens`."),
  parse_special: flag("Whether special tokens in the text count as such.", true),
  return_token_strs: flag(
    "Whether to return `token_strs`, each token as in the vocabulary.",
    false,
  ),
  with_pieces: flag(
    "As in llama-server: `tokens` are objects `{id, piece}`. A piece is text, or bytes if it is not a whole character.",
    false,
  ),
  add_generation_prompt: flag("A conversation always ends where the answer begins.", true),
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
  content: T.String({ description: "The same, under llama-server's name." }),
});

export type DetokenizeResult = Static<typeof DetokenizeResult>;
