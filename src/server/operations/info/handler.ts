/** What the node is; a stranger is not told where its store and its models are, nor what the machine is. */
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import type { RetrievalService } from "../../../core/retrieval/retrieval-service.ts";
import type { Handler } from "../../operation.ts";
import { type NodeIdentity, toNodeInfo } from "./wire.ts";

interface Needs {
  models: ModelRegistry;
  retrieval: RetrievalService;
  /** Asked at each request: the port and the engine are known only once the node runs. */
  identity: () => NodeIdentity;
}

/** What a stranger sees in place of addresses, where keys are wanted. */
const hiddenUrl = "hidden";

export const describeNode: Handler<undefined, Needs> = (
  _request,
  { isStranger },
  { models, retrieval, identity },
) => {
  const { collection } = retrieval;
  if (!isStranger) return { json: toNodeInfo(identity(), models.cards(), collection) };
  const shown = { ...collection, url: hiddenUrl };
  // What would be better tells how much memory the machine has.
  const cards = models.cards().map(({ advice: _, ...card }) => card);
  return { json: toNodeInfo(identity(), cards, shown, () => [hiddenUrl]) };
};
