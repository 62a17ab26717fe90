/** POST /v1/embeddings */
import { defineOperation } from "../../define-operation.ts";
import { specifiedErrors } from "../../middleware/errors.ts";
import { specifiedModelErrors } from "../../openapi.ts";
import { tags } from "../../operation.ts";
import { embedTexts } from "./handler.ts";
import { EmbeddingList, EmbeddingRequest } from "./schema.ts";

export const embeddings = defineOperation({
  method: "POST",
  path: "/v1/embeddings",
  name: "embeddings",
  genAiName: "embeddings",
  operationId: "createEmbeddings",
  summary: "Embed texts",
  description: "Computes a vector of unit length for each text, in their order.",
  tag: tags.embeddings,
  scope: "embeddings",
  body: {
    name: "EmbeddingRequest",
    schema: EmbeddingRequest,
    example: { model: "all-MiniLM-L6-v2", input: ["Paris is the capital of France."] },
    // A list of numbers is one text.
    lists: [{ param: "input", limit: "maxInputs", isFor: (first) => typeof first !== "number" }],
    logged: ({ model, input }) => ({ model, input }),
  },
  answer: {
    name: "EmbeddingList",
    schema: EmbeddingList,
    description: "The vectors.",
    example: {
      object: "list",
      data: [{ index: 0, object: "embedding", embedding: [0.0962, 0.0213, -0.0341] }],
      model: "all-MiniLM-L6-v2",
      usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 },
    },
  },
  errorFormat: specifiedErrors,
  errors: specifiedModelErrors,
  handler: embedTexts,
});
