/** Retrieval between the wire and the domain. */
import type { DocumentCaller } from "../../../core/documents/document-caller.ts";
import { given } from "../../../core/given.ts";
import type {
  RetrievalMethod,
  RetrievalRequest,
  RetrievalResult,
} from "../../../core/retrieval/retrieval-service.ts";
import type { SearchScope } from "../../../core/retrieval/search-scope.ts";
import { toFilter } from "../../wire/filter.ts";
import { toChatMessages } from "../../wire/messages.ts";
import { toPointMetadata } from "../../wire/point-schema.ts";
import type { RetrieveRequest, RetrieveResult } from "./schema.ts";

export function toRetrievalRequest(
  body: RetrieveRequest,
  caller: DocumentCaller,
): RetrievalRequest {
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

export function toRetrieveResult(
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

/** How the passages were found, for the answer's header. */
export const toMethodText = ({ mode, reranked }: RetrievalMethod): string =>
  reranked ? `${mode}, reranked` : mode;
