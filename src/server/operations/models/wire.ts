/** The model list between the wire and the domain. */
import type { ModelCard } from "../../../core/models/model.ts";
import type { Model, ModelList } from "./schema.ts";

export function toModel({ name, createdAt, ownedBy, settings }: ModelCard): Model {
  return {
    id: name,
    created: Math.floor(createdAt.getTime() / 1000),
    object: "model",
    owned_by: ownedBy,
    max_model_len: settings.ctxSize,
    context_length: settings.ctxSize,
  };
}

export function toModelList(cards: readonly ModelCard[]): ModelList {
  return { object: "list", data: cards.map(toModel) };
}
