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

/** What a stranger is told in place of what the store says of itself. */
const collectionNotReady =
  "The node's collection is not ready. A caller with a key is told why, and the log has it.";

/** What is in the way; nothing where the node is ready. A stranger hears nothing of the store. */
export async function checkReadiness(
  { models, activities, retrieval, isDraining }: ReadinessParts,
  { isStranger = false } = {},
): Promise<string[]> {
  const problem = await retrieval.problem();
  return [
    ...models.problems(),
    ...(problem === undefined ? [] : [isStranger ? collectionNotReady : problem]),
    ...activities.problems(),
    ...(isDraining() ? ["The node is stopping."] : []),
  ];
}
