/** Whether the node can take a request now, and if not, why: in sentences. */

import type { ModelRegistry } from "./models/model.ts";
import type { ModelActivities } from "./models/model-activities.ts";
import type { RetrievalService } from "./retrieval/retrieval-service.ts";

export interface ReadinessParts {
  models: ModelRegistry;
  activities: ModelActivities;
  retrieval: RetrievalService;
  /** Whether the node was asked to stop, and takes no new requests. */
  isDraining: () => boolean;
}

/** What a caller without a key is told; the reason may name the store and its address. */
const collectionNotReady =
  "The node's collection is not ready. A caller with a key is told why, and the log has it.";

/** A sentence each. */
export interface ReadinessReport {
  /** Why the node is not ready; none where it is. */
  problems: string[];
  /** What a node that is ready does not have yet. */
  coming: string[];
}

/** `isStranger`: a caller without a key, who learns nothing of the store. */
export async function checkReadiness(
  { models, activities, retrieval, isDraining }: ReadinessParts,
  { isStranger = false } = {},
): Promise<ReadinessReport> {
  const problem = await retrieval.problem();
  const isHidden = isStranger && !retrieval.isPreparing;
  return {
    problems: [
      ...models.problems(),
      ...(problem === undefined ? [] : [isHidden ? collectionNotReady : problem]),
      ...activities.problems(),
      ...(isDraining() ? ["The node is stopping."] : []),
    ],
    coming: retrieval.coming === undefined ? [] : [retrieval.coming],
  };
}
