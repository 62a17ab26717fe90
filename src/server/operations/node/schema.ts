/** Schemas of node information, health and readiness. */
import { type Static, Type as T } from "@sinclair/typebox";
import { cacheTypes, flashAttentionModes } from "../../../core/models/model.ts";
import { oneOf, optional } from "../../wire/fields.ts";

const withoutSecrets =
  "without credentials; `hidden` for callers without a key, on a node with keys.";

const Upstream = T.Object(
  {
    model: T.String({ description: "The model's name there." }),
    server: T.String({ description: "The server's software, with its version if known." }),
    tokens: oneOf(["counted", "estimated"], {
      description: "Whether the server counts the tokens of prompts, or the node estimates them.",
    }),
    urls: T.Array(T.String(), { description: `Its addresses, ${withoutSecrets}` }),
  },
  { description: "An extension: the server that runs the model, if it is not this node." },
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
  cache_type_k: optional(
    oneOf(cacheTypes),
    "An extension, as are the next three: how the context of a local chat model is made.",
  ),
  cache_type_v: T.Optional(oneOf(cacheTypes)),
  flash_attention: T.Optional(oneOf(flashAttentionModes)),
  lora: optional(
    T.Array(T.Object({ path: T.String(), scale: T.Number() })),
    "LoRA adapters: the names of their files, and how strongly each applies.",
  ),
  advice: optional(T.String(), "An extension: a better starter model for this machine."),
  vision: optional(T.Boolean(), "An extension: whether a chat model reads images."),
  upstream: T.Optional(Upstream),
});

export const NodeInfo = T.Object({
  version: T.String({ pattern: "^\\d+\\.\\d+\\.\\d+$" }),
  plugin_version: T.String({
    description: "The loaded llama.cpp build, its backend, and why it is not a faster one.",
  }),
  port: T.String({ description: "A string, not a number." }),
  models: T.Array(ModelInfo),
  vectorstore_config: T.Object({
    url: T.String({ description: `The vector store's address, ${withoutSecrets}` }),
    collection_name: T.String(),
    limit: T.Integer(),
    score_threshold: T.Number(),
  }),
});

export type NodeInfo = Static<typeof NodeInfo>;

export const Health = T.Object({ status: T.Literal("alive") });

export type Health = Static<typeof Health>;

export const Readiness = T.Object({
  status: oneOf(["ready", "not ready"]),
  reasons: T.Array(T.String(), {
    description:
      "What is not ready. If the node is ready: what is still being prepared (its handbook), and what is missing (its Redis server).",
  }),
});

export type Readiness = Static<typeof Readiness>;
