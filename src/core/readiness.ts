/** Whether the node can take a request now, and if not, why: in sentences. */

import type { ModelActivities } from "./models/model-activity.ts";
import type { ModelRegistry } from "./models/model-registry.ts";
import type { RetrievalService } from "./retrieval/retrieval-service.ts";

export interface ReadinessParts {
  models: ModelRegistry;
  activities: ModelActivities;
  retrieval: RetrievalService;
  /** What is still being made in the background, a sentence each. */
  coming: ReadonlyMap<string, string>;
  /** Whether the node was asked to stop, and takes no new requests. */
  isDraining: () => boolean;
  /** Of what several nodes share; absent where this one is alone. */
  shared?: (who: { isStranger: boolean }) => SharedReport;
}

/** A sentence each. */
export interface SharedReport {
  /** Why the node cannot take a request without it. */
  problem?: string;
  /** What the node does differently without it. */
  note?: string;
}

/** What a caller without a key is told; the reason may name the store and its address. */
const collectionNotReady =
  "The node's collection is not ready. A caller with a key is told why, and the log has it.";

/** A sentence each. */
export interface ReadinessReport {
  /** Why the node is not ready; none where it is. */
  problems: string[];
  /** What a node that is ready does differently for now. */
  notes: string[];
  /** What a node that is ready does not have yet. */
  coming: string[];
}

/** `isStranger`: a caller without a key, who learns nothing of the store. */
export async function checkReadiness(
  { models, activities, retrieval, coming, isDraining, shared }: ReadinessParts,
  { isStranger = false } = {},
): Promise<ReadinessReport> {
  const problem = await retrieval.problem();
  const common = shared?.({ isStranger }) ?? {};
  const isHidden = isStranger && !retrieval.isPreparing;
  return {
    problems: [
      ...models.problems(),
      ...(problem === undefined ? [] : [isHidden ? collectionNotReady : problem]),
      ...activities.problems(),
      ...(common.problem === undefined ? [] : [common.problem]),
      ...(isDraining() ? ["The node is stopping."] : []),
    ],
    notes: common.note === undefined ? [] : [common.note],
    coming: [...(retrieval.coming === undefined ? [] : [retrieval.coming]), ...coming.values()],
  };
}
