/** Readiness check: whether the node can accept requests, and why not. */
import { reasonOf } from "./errors.ts";
import type { ModelActivities } from "./models/model-activity.ts";
import type { ModelRegistry } from "./models/model-registry.ts";
import type { RetrievalService } from "./retrieval/retrieval-service.ts";

export interface ReadinessParts {
  models: ModelRegistry;
  activities: ModelActivities;
  retrieval: RetrievalService;
  documents: StoreState;
  responses: StoreState;
  /** What is still in progress in the background, a sentence each. */
  coming: ReadonlyMap<string, string>;
  isDraining: () => boolean;
  /** Reports on the keys, or on the state that several nodes share. */
  keys?: (who: { isStranger: boolean }) => SharedReport;
}

export interface StoreState {
  problem(): Promise<string | undefined>;
  /** Why it cannot be used, where the node answers the rest without it; as of the last `problem`. */
  note(): string | undefined;
}

/** A sentence each. */
export interface SharedReport {
  problem?: string;
  /** What the node does differently without it. */
  note?: string;
}

/** For a caller without a key, since the reason may contain the store and its address. */
const collectionNotReady =
  "The node's collection is not ready. A caller with a key is told why, and the log has it.";

const storeNotUsable =
  "Stored documents or responses cannot be used. A caller with a key is told why.";

/** A sentence each. */
export interface ReadinessReport {
  /** Why the node is not ready; empty if it is. */
  problems: string[];
  /** What a node that is ready does differently for now. */
  notes: string[];
  /** What a node that is ready does not have yet. */
  coming: string[];
}

/** `isStranger`: a caller without a key, which gets no details of the store. */
export async function checkReadiness(
  { models, activities, retrieval, coming, isDraining, keys, ...stores }: ReadinessParts,
  { isStranger = false } = {},
): Promise<ReadinessReport> {
  const [problem, ...hanging] = await Promise.all([
    retrieval.problem(),
    stores.documents.problem(),
    stores.responses.problem(),
  ]);
  const common = keys?.({ isStranger }) ?? {};
  const notes = [stores.documents.note(), stores.responses.note()].map((note) =>
    note === undefined || !isStranger ? note : storeNotUsable,
  );
  const isHidden = isStranger && !retrieval.isPreparing;
  return {
    problems: [
      ...models.problems(),
      ...(problem === undefined ? [] : [isHidden ? collectionNotReady : problem]),
      ...hanging.filter((why) => why !== undefined),
      ...activities.problems(),
      ...(common.problem === undefined ? [] : [common.problem]),
      ...(isDraining() ? ["The node is stopping."] : []),
    ],
    notes: [...new Set([common.note, ...notes])].filter((note) => note !== undefined),
    coming: [retrieval.coming.notice, ...coming.values()].filter((notice) => notice !== undefined),
  };
}

/** Asks a store whether something is wrong, one question at a time, however often it is called; `late` if that takes too long. */
export function withPatience(
  ask: () => Promise<string | undefined>,
  { late, patienceMs }: { late: string; patienceMs: number },
): () => Promise<string | undefined> {
  let asked: Promise<string | undefined> | undefined;
  return async () => {
    asked ??= ask().finally(() => {
      asked = undefined;
    });
    const { promise, resolve } = Promise.withResolvers<string>();
    const timer = setTimeout(() => resolve(late), patienceMs);
    return await Promise.race([asked, promise]).finally(() => clearTimeout(timer));
  };
}

/** Whether a store hangs, and with what error it answers. */
export function watchStore(
  ask: () => Promise<unknown>,
  options: { late: string; patienceMs: number },
): StoreState {
  let note: string | undefined;
  const problem = withPatience(async () => {
    note = await ask().then(() => undefined, reasonOf);
    return undefined;
  }, options);
  return { problem, note: () => note };
}
