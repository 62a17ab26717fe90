/** Schemas of embeddings. */
import { type Static, Type as T } from "@sinclair/typebox";
import {
  acceptedAs,
  count,
  integer,
  modelName,
  nullable,
  openObject,
  optional,
} from "../../wire/fields.ts";

const Tokens = T.Array(count(), { minItems: 1 });

export const EmbeddingRequest = openObject({
  model: modelName("an embedding model"),
  input: T.Union(
    [T.String(), T.Array(T.String(), { minItems: 1 }), Tokens, T.Array(Tokens, { minItems: 1 })],
    {
      "x-expected": "a string or a list of strings, or token ids in their place",
      description:
        "One text or several, or the token ids of one or several. None may be empty or longer than the model's context. At most `limits.max_inputs`, by default 2048.",
    },
  ),
  encoding_format: optional(
    T.Union([T.Literal("float"), T.Literal("base64"), T.Null()]),
    "`base64`: the vector's little-endian 32-bit floats.",
    "float",
  ),
  dimensions: nullable(
    integer(1),
    "Shorter vectors, scaled to unit length again. At most the model's own.",
  ),
  user: nullable(acceptedAs(T.String(), "The answer does not depend on the caller.")),
});

export type EmbeddingRequest = Static<typeof EmbeddingRequest>;

export const EmbeddingList = T.Object({
  object: T.Literal("list"),
  data: T.Array(
    T.Object({
      index: count(),
      object: T.Literal("embedding"),
      embedding: T.Union([T.Array(T.Number()), T.String()], {
        description: "Of unit length; a string with `base64`.",
      }),
    }),
  ),
  model: T.String(),
  usage: T.Object({
    prompt_tokens: count(),
    completion_tokens: T.Literal(0),
    total_tokens: count(),
  }),
});

export type EmbeddingList = Static<typeof EmbeddingList>;
