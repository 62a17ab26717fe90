/** POST and GET /v1/models, GET /v1/models/{id} */
import type { ModelCard } from "../../../core/models/model.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import {
  defineOperation,
  type Handler,
  namedSchema,
  type OperationFacts,
  tags,
} from "../../operation.ts";
import { toSeconds } from "../../wire/fields.ts";
import { Model, ModelList } from "./schema.ts";

const example: Model = {
  id: "TinyLlama-1.1B-Chat-v1.0",
  created: 1794700800,
  object: "model",
  owned_by: "paddock",
  max_model_len: 2048,
  context_length: 2048,
};

const listing = {
  path: "/v1/models",
  name: "models",
  description: "The models that are ready, of every type. No body is read.",
  tag: tags.node,
  answer: {
    ...namedSchema({ ModelList }),
    description: "The models.",
    example: { object: "list", data: [example] },
  },
  errors: {},
} satisfies Partial<OperationFacts>;

type Needs = { models: ModelRegistry };

const list: Handler<unknown, Needs> = (_request, _context, { models }) => ({
  json: { object: "list", data: models.cards().map(toModel) } satisfies ModelList,
});

const listModels = defineOperation({
  ...listing,
  method: "POST",
  operationId: "listModels",
  summary: "List the models",
  handler: list,
});

const getModels = defineOperation({
  ...listing,
  method: "GET",
  operationId: "getModels",
  summary: "List the models, for OpenAI's clients",
  handler: list,
});

const getModel = defineOperation({
  method: "GET",
  path: "/v1/models/:id",
  name: "models",
  operationId: "getModel",
  summary: "Describe one model",
  tag: tags.node,
  parameters: { id: "The model's name." },
  answer: { ...namedSchema({ Model }), description: "The model.", example },
  errors: { 404: "There is no such model: code `model_not_found`." },
  handler: ({ parameters }, _context, { models }: Needs) => ({
    json: toModel(models.card(parameters.id ?? "")),
  }),
});

export const modelOperations = [listModels, getModels, getModel] as const;

function toModel({ name, createdAt, ownedBy, settings }: ModelCard): Model {
  return {
    id: name,
    created: toSeconds(createdAt),
    object: "model",
    owned_by: ownedBy,
    max_model_len: settings.ctxSize,
    context_length: settings.ctxSize,
  };
}
