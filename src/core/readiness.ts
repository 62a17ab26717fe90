/** Whether the node can take a request now, and if not, why: in sentences. */

import type { ModelRegistry } from "./model.ts";
import type { ModelLoads } from "./model-loads.ts";
import type { RetrievalService } from "./retrieval.ts";

export interface ReadinessParts {
  models: ModelRegistry;
  loads: ModelLoads;
  retrieval: RetrievalService;
  /** Whether the node was asked to stop, and takes no new requests. */
  isDraining: () => boolean;
}

/** What is in the way; nothing where the node is ready. */
export async function reasonsAgainst({
  models,
  loads,
  retrieval,
  isDraining,
}: ReadinessParts): Promise<string[]> {
  const problem = await retrieval.problem();
  return [
    ...models.problems(),
    ...(problem === undefined ? [] : [problem]),
    ...loads.problems(),
    ...(isDraining() ? ["The node is stopping."] : []),
  ];
}
