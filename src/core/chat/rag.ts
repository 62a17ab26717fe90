/** How chat is grounded: what the node sets, what a request says of it, and what came of it. */
import type { AttributeFilter } from "../documents/records.ts";
import type { SearchBounds } from "../ports/passage-repository.ts";
import type { FoundPassage } from "../retrieval/search.ts";

/** Where the passages of a grounded chat go. */
export const ragPolicies = ["off", "system-message", "last-user-message"] as const;

export type RagPolicy = (typeof ragPolicies)[number];

/** Stands between the passages and the question, where small models heed it best. */
export const defaultGroundingPrompt =
  "Answer from the passages above, briefly, and name those that you used by their markers, like [1]. Where they do not hold the answer, say so.";

export interface RagSettings {
  policy: RagPolicy;
  /** What the model is told about the passages. */
  prompt: string;
  bounds: SearchBounds;
  /** Least score of a passage where the request leaves it to the node whether it is grounded. */
  autoThreshold: number;
  /** How many of the last user messages make the question. */
  contextWindow: number;
  /** Whether a last message that leans on the one before is searched for together with it. */
  followUps: boolean;
}

/** What a request says of grounding: it switches it, and narrows the node's bounds. */
export interface RagRequest {
  /** Absent: the node's, or into the last user message where that is off. */
  policy?: RagPolicy;
  /** Whether passages are used only where they clearly match; without any, nothing is said of grounding. */
  auto?: boolean;
  bounds: Partial<SearchBounds>;
  contextWindow?: number;
  /** Ids or names of vector stores; absent: the node's collection, or those that the caller is bound to. */
  stores?: readonly string[];
  /** The field that names them; default: `rag.vector_store_ids`. */
  storesField?: string;
  filter?: AttributeFilter;
}

export interface FoundPassages {
  /** In descending score. */
  points: readonly FoundPassage[];
  /** Why there are none, where retrieval failed. */
  error?: string;
  /** What was done to the question where it was not taken as it is, and that passages are still being stored. */
  notice?: string;
}

/** What the prompt was given. */
export interface Grounding extends FoundPassages {
  /** The passages in the prompt, as it numbers them: those of earlier turns, then this turn's in descending score. */
  points: readonly FoundPassage[];
  /** How many matched, now or in earlier turns, and are not in the prompt: another contains them, or they do not fit. */
  dropped: number;
  /** How many of `points`, from the first, are those of earlier turns. */
  carried: number;
}
