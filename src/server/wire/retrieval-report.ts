/** From what a prompt was given to what its answer reports. */
import type { Grounding } from "../../core/chat/grounding.ts";
import { given } from "../../core/given.ts";
import { redactPaths } from "../middleware/errors.ts";
import { toPointMetadata } from "./point-schema.ts";
import type { RetrievalReport } from "./retrieval-report-schema.ts";

export function toRetrievalReport(grounding: Grounding): RetrievalReport {
  const { points, dropped, carried, error, notice } = grounding;
  return {
    points: points.map((point) => ({
      source: point.source,
      score: point.score,
      metadata: toPointMetadata(point),
    })),
    dropped,
    ...(carried === 0 ? {} : { carried }),
    ...given({ error: error === undefined ? undefined : redactPaths(error), notice }),
  };
}
