/** POST and GET /v1/models, GET /v1/models/{id} */
import { Elysia } from "elysia";
import type { ModelRegistry } from "../../../core/models/model.ts";
import { operation, tags } from "../../operation.ts";
import { toModel, toModelList } from "./wire.ts";

const example = {
  id: "TinyLlama-1.1B-Chat-v1.0",
  created: 1794700800,
  object: "model",
  owned_by: "paddock",
};

const listing = (operationId: string, summary: string) =>
  operation({
    operationId,
    summary,
    description: "The chat and embedding models that are ready. No body is read.",
    tag: tags.node,
    answer: {
      schema: "ModelList",
      description: "The models.",
      example: { object: "list", data: [example] },
    },
    errors: {},
  });

export function modelRoutes({ models }: { models: ModelRegistry }) {
  const list = () => toModelList(models.cards());
  return new Elysia({ prefix: "/v1" })
    .post("/models", list, { parse: "none", detail: listing("listModels", "List the models") })
    .get("/models", list, {
      detail: listing("getModels", "List the models, as OpenAI clients ask for them"),
    })
    .get("/models/:id", ({ params }) => toModel(models.card(params.id ?? "")), {
      detail: {
        ...operation({
          operationId: "getModel",
          summary: "Describe one model",
          tag: tags.node,
          answer: { schema: "Model", description: "The model.", example },
          errors: { 500: "The named model is not on this node: code `model_not_found`." },
        }),
        parameters: [
          {
            name: "id",
            in: "path",
            required: true,
            schema: { type: "string" },
            description: "The model's name.",
          },
        ],
      },
    });
}
