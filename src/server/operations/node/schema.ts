/** Schemas of node information, models, health and readiness. */
import { type Static, Type as T } from "@sinclair/typebox";
import { count, oneOf, optional } from "../../wire/fields.ts";

const Upstream = T.Object(
  {
    model: T.String({ description: "What the model is called there." }),
    server: T.String({ description: "What serves it, with its version where it says so." }),
    tokens: oneOf(["counted", "estimated"], {
      description:
        "Whether the server counts the tokens of prompts, or they are estimated here, rather too many than too few.",
    }),
    urls: T.Array(T.String(), {
      description:
        "The addresses that serve it, without credentials; `hidden` to callers without a key where keys are wanted.",
    }),
  },
  { description: "An extension: where a model runs that does not run on this node." },
);

const ModelInfo = T.Object({
  name: T.String(),
  type: oneOf(["chat", "embedding", "reranker"]),
  prompt_template: T.String(),
  n_predict: T.Integer(),
  n_gpu_layers: T.Integer(),
  ctx_size: T.Integer(),
  batch_size: T.Integer(),
  temperature: T.Number(),
  top_p: T.Number(),
  min_p: T.Number({ description: "An extension." }),
  repeat_penalty: T.Number(),
  presence_penalty: T.Number(),
  frequency_penalty: T.Number(),
  repeat_last_n: T.Integer({ description: "An extension, as are the next three." }),
  dry_multiplier: T.Number(),
  dry_base: T.Number(),
  dry_allowed_length: T.Integer(),
  advice: optional(
    T.String(),
    "An extension: of the starter chat model, what would be better on this machine, with the command.",
  ),
  upstream: T.Optional(Upstream),
});

export const NodeInfo = T.Object({
  version: T.String({ pattern: "^\\d+\\.\\d+\\.\\d+$" }),
  plugin_version: T.String({
    description:
      "The llama.cpp release and build that is loaded, its backend, and why it is not a better one.",
  }),
  port: T.String({ description: "A string, not a number." }),
  models: T.Array(ModelInfo),
  vectorstore_config: T.Object({
    url: T.String({
      description:
        "Address of the vector store, without credentials; `hidden` to callers without a key where keys are wanted.",
    }),
    collection_name: T.String(),
    limit: T.Integer(),
    score_threshold: T.Number(),
  }),
});

export type NodeInfo = Static<typeof NodeInfo>;

export const Model = T.Object({
  id: T.String({ description: "The name that requests use." }),
  created: T.Integer({ description: "When the model's file was made, as Unix time in seconds." }),
  object: T.Literal("model"),
  owned_by: T.String(),
  max_model_len: count("Tokens of the model's context, as vLLM says it. An extension."),
  context_length: count("The same, under the name that other clients look for. An extension."),
});

export type Model = Static<typeof Model>;

export const ModelList = T.Object({ object: T.Literal("list"), data: T.Array(Model) });

export type ModelList = Static<typeof ModelList>;

export const Health = T.Object({ status: T.Literal("alive") });

export type Health = Static<typeof Health>;

export const Readiness = T.Object({
  status: oneOf(["ready", "not ready"]),
  reasons: T.Array(T.String(), {
    description:
      "What is not ready. A node that is ready names here what is still coming (its handbook is being stored, and chat is open meanwhile) and what it goes without (the Redis server that it shares with others is away). Empty when all is there.",
  }),
});

export type Readiness = Static<typeof Readiness>;
