/** POST /v1/retrieve */
import type { DocumentCaller } from "../../../core/documents/document-caller.ts";
import { given } from "../../../core/given.ts";
import type {
  RetrievalRequest,
  RetrievalService,
} from "../../../core/retrieval/retrieval-service.ts";
import type { RetrievalResult, SearchScope } from "../../../core/retrieval/search.ts";
import { specifiedErrors } from "../../middleware/errors.ts";
import { specifiedModelErrors } from "../../openapi.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import { noticeHeader } from "../../wire/answer.ts";
import { toFilter } from "../../wire/attributes.ts";
import { toPointMetadata } from "../../wire/grounding.ts";
import { toChatMessages } from "../../wire/messages.ts";
import { RetrieveRequest, RetrieveResult } from "./schema.ts";

/** How the passages were found: a collection may not support the node's retrieval mode. */
const methodHeader = "x-paddock-retrieval";

export const retrieve = defineOperation({
  route: "POST /v1/retrieve",
  name: "retrieve",
  genAiName: "retrieval",
  operationId: "retrieve",
  summary: "Find passages",
  description:
    "Embeds the last user message and returns the passages of the node's collection that match it. A request may narrow the node's limit and score threshold for itself, never widen them; the answer names those applied. The header `x-paddock-retrieval` says how they were found: `dense` or `hybrid`, and whether they were `reranked`; `x-paddock-notice` says so while passages of the handbook are still being stored.",
  tag: "Retrieval",
  scope: "retrieve",
  body: {
    ...namedSchema({ RetrieveRequest }),
    example: {
      model: "all-MiniLM-L6-v2",
      messages: [{ role: "user", content: "How do I add an API key?" }],
    },
    lists: [{ param: "messages", limit: "maxMessages" }],
    logged: ({ model, messages }) => ({ model, messages }),
  },
  answer: described({ RetrieveResult }, "The passages, best first.", {
    points: [{ source: "Keys\n\nSet PADDOCK_API_KEYS to one or more keys.", score: 0.71 }],
    limit: 5,
    score_threshold: 0.4,
  }),
  errorFormat: specifiedErrors,
  errors: specifiedModelErrors,
  handler: async ({ body }, context, { retrieval }: { retrieval: RetrievalService }) => {
    const { authenticated } = context;
    const request = toRetrievalRequest(body, authenticated);
    const result = await retrieval.retrieve(request, context.engineCall);
    const { mode, reranked } = result.method;
    context.headers[methodHeader] = reranked ? `${mode}, reranked` : mode;
    // While passages are still being stored.
    if (retrieval.coming.notice !== undefined)
      context.headers[noticeHeader] = retrieval.coming.notice;
    context.loggedAnswer = () => ({ texts: result.points.map(({ source }) => source) });
    return { json: toRetrieveResult(result, body) };
  },
});

function toRetrievalRequest(body: RetrieveRequest, caller: DocumentCaller): RetrievalRequest {
  const { model, messages, limit, score_threshold: scoreThreshold } = body;
  return {
    model,
    messages: toChatMessages(messages),
    bounds: given({ limit, scoreThreshold }),
    scope: toScope(body, caller),
  };
}

function toScope({ collection, filters }: RetrieveRequest, caller: DocumentCaller): SearchScope {
  const stores = typeof collection === "string" ? [collection] : (collection ?? undefined);
  return {
    caller,
    fieldOf: (index) => (typeof collection === "string" ? "collection" : `collection[${index}]`),
    ...given({ stores, filter: filters ? toFilter(filters, "filters") : undefined }),
  };
}

function toRetrieveResult(
  { points, bounds }: RetrievalResult,
  { include_metadata: withMetadata = false }: RetrieveRequest,
): RetrieveResult {
  return {
    points: points.map((point) => ({
      source: point.source,
      score: point.score,
      ...(withMetadata ? { metadata: toPointMetadata(point) } : {}),
    })),
    limit: bounds.limit,
    score_threshold: bounds.scoreThreshold,
  };
}
