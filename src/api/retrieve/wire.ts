/** Retrieval between the wire and the domain. */
import type { RetrievalRequest, RetrievalResult } from "../../core/retrieval.ts";
import { toChatMessages } from "../messages.ts";
import type { RetrieveRequest, RetrieveResult } from "./schema.ts";

export function toRetrievalRequest(body: RetrieveRequest): RetrievalRequest {
  const { model, messages, limit, score_threshold: scoreThreshold } = body;
  return {
    model,
    messages: toChatMessages(messages),
    bounds: {
      ...(limit === undefined ? {} : { limit }),
      ...(scoreThreshold === undefined ? {} : { scoreThreshold }),
    },
  };
}

export function toRetrieveResult({ points, bounds }: RetrievalResult): RetrieveResult {
  return {
    points: points.map(({ source, score }) => ({ source, score })),
    limit: bounds.limit,
    score_threshold: bounds.scoreThreshold,
  };
}
