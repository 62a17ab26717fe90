/** POST and GET /v1/info */
import { Elysia } from "elysia";
import type { ModelRegistry } from "../../../core/models/model.ts";
import type { RetrievalService } from "../../../core/retrieval/retrieval-service.ts";
import { type Access, isKnown } from "../../middleware/authentication.ts";
import { operation, tags } from "../../operation.ts";
import { type NodeIdentity, toNodeInfo } from "./wire.ts";

export interface InfoRoutesServices {
  models: ModelRegistry;
  retrieval: RetrievalService;
  /** Asked at each request: the port and the engine are known only once the node runs. */
  identity: () => NodeIdentity;
  access: Access;
}

const description = (operationId: string, summary: string) =>
  operation({
    operationId,
    summary,
    description: "The node's version, its models with their settings, and its collection.",
    tag: tags.node,
    answer: {
      schema: "NodeInfo",
      description: "The node's configuration.",
      example: {
        version: "0.2.0",
        plugin_version: "llama.cpp v0.5.0 (ggml-org/llama.cpp, prebuilt build, cpu)",
        port: "8080",
        models: [
          {
            name: "TinyLlama-1.1B-Chat-v1.0",
            type: "chat",
            prompt_template: "auto",
            n_predict: -1,
            n_gpu_layers: 0,
            ctx_size: 2048,
            batch_size: 512,
            temperature: 1,
            top_p: 1,
            repeat_penalty: 1,
            presence_penalty: 0,
            frequency_penalty: 0,
          },
        ],
        vectorstore_config: {
          url: "embedded",
          collection_name: "default",
          limit: 5,
          score_threshold: 0.4,
        },
      },
    },
    errors: {},
  });

/** What a stranger sees in place of the store's address, where keys are wanted. */
const hiddenUrl = "hidden";

export function infoRoutes({ models, retrieval, identity, access }: InfoRoutesServices) {
  const info = ({ request }: { request: Request }) => {
    const { collection } = retrieval;
    const shown = isKnown(access, request) ? collection : { ...collection, url: hiddenUrl };
    return toNodeInfo(identity(), models.cards(), shown);
  };
  return new Elysia({ prefix: "/v1" })
    .post("/info", info, {
      parse: "none",
      detail: description("describeNode", "Describe the node"),
    })
    .get("/info", info, { detail: description("getInfo", "Describe the node, without a body") });
}
