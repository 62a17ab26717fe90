/** The model list between the wire and the domain. */
import type { ModelCard } from "../../../core/models/model.ts";
import type { Model, ModelList } from "./schema.ts";

export function toModel({ name, createdAt, ownedBy }: ModelCard): Model {
  return {
    id: name,
    created: Math.floor(createdAt.getTime() / 1000),
    object: "model",
    owned_by: ownedBy,
  };
}

export function toModelList(cards: readonly ModelCard[]): ModelList {
  return { object: "list", data: cards.map(toModel) };
}
