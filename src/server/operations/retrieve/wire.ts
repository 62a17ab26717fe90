/** Retrieval between the wire and the domain. */
import { given } from "../../../core/given.ts";
import type {
  RetrievalMethod,
  RetrievalRequest,
  RetrievalResult,
} from "../../../core/retrieval/retrieval-service.ts";
import { toChatMessages } from "../../wire/messages.ts";
import { toPointMetadata } from "../../wire/point-schema.ts";
import type { RetrieveRequest, RetrieveResult } from "./schema.ts";

export function toRetrievalRequest(body: RetrieveRequest): RetrievalRequest {
  const { model, messages, limit, score_threshold: scoreThreshold } = body;
  return {
    model,
    messages: toChatMessages(messages),
    bounds: given({ limit, scoreThreshold }),
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
