/** POST and GET /v1/info */
import { defineOperationWithoutBody } from "../../define-operation.ts";
import { type OperationFacts, tags } from "../../operation.ts";
import { describeNode as handler } from "./handler.ts";
import { NodeInfo } from "./schema.ts";

const facts = {
  path: "/v1/info",
  name: "info",
  description: "The node's version, its models with their settings, and its collection.",
  tag: tags.node,
  key: "optional",
  answer: {
    name: "NodeInfo",
    schema: NodeInfo,
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
          min_p: 0.6,
          repeat_penalty: 1,
          presence_penalty: 0,
          frequency_penalty: 0,
          repeat_last_n: -1,
          dry_multiplier: 0.8,
          dry_base: 1.75,
          dry_allowed_length: 2,
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
} satisfies Partial<OperationFacts>;

export const describeNode = defineOperationWithoutBody({
  ...facts,
  method: "POST",
  operationId: "describeNode",
  summary: "Describe the node",
  handler,
});

export const getInfo = defineOperationWithoutBody({
  ...facts,
  method: "GET",
  operationId: "getInfo",
  summary: "Describe the node, without a body",
  handler,
});
