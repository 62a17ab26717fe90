/** The model list on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";

export const Model = T.Object({
  id: T.String({ description: "The name that requests use." }),
  created: T.Integer({ description: "When the model's file was made, as Unix time in seconds." }),
  object: T.Literal("model"),
  owned_by: T.String(),
  max_model_len: T.Integer({
    minimum: 0,
    description: "Tokens of the model's context, as vLLM says it. An extension.",
  }),
  context_length: T.Integer({
    minimum: 0,
    description: "The same, under the name that other clients look for. An extension.",
  }),
});

export type Model = Static<typeof Model>;

export const ModelList = T.Object({ object: T.Literal("list"), data: T.Array(Model) });

export type ModelList = Static<typeof ModelList>;
