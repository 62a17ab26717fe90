/** POST /v1/retrieve */
import { defineOperation } from "../../define-operation.ts";
import { specifiedErrors } from "../../middleware/errors.ts";
import { specifiedModelErrors } from "../../openapi.ts";
import { tags } from "../../operation.ts";
import { findPassages } from "./handler.ts";
import { RetrieveRequest, RetrieveResult } from "./schema.ts";

export const retrieve = defineOperation({
  method: "POST",
  path: "/v1/retrieve",
  name: "retrieve",
  genAiName: "retrieval",
  operationId: "retrieve",
  summary: "Find passages",
  description:
    "Embeds the last user message and returns the passages of the node's collection that match it. A request may narrow the node's limit and score threshold for itself, never widen them; the answer names those applied. The header `x-paddock-retrieval` says how they were found: `dense` or `hybrid`, and whether they were `reranked`; `x-paddock-notice` says so while passages of the handbook are still being stored.",
  tag: tags.retrieval,
  scope: "retrieve",
  body: {
    name: "RetrieveRequest",
    schema: RetrieveRequest,
    example: {
      model: "all-MiniLM-L6-v2",
      messages: [{ role: "user", content: "How do I add an API key?" }],
    },
    lists: [{ param: "messages", limit: "maxMessages" }],
    logged: ({ model, messages }) => ({ model, messages }),
  },
  answer: {
    name: "RetrieveResult",
    schema: RetrieveResult,
    description: "The passages, best first.",
    example: {
      points: [{ source: "Keys\n\nSet PADDOCK_API_KEYS to one or more keys.", score: 0.71 }],
      limit: 5,
      score_threshold: 0.4,
    },
  },
  errorFormat: specifiedErrors,
  errors: specifiedModelErrors,
  handler: findPassages,
});
