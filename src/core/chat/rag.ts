/** Types of grounded chat: settings of the node and of a request, and the result. Apart, since the page checks these types too. */
import type { AttributeFilter } from "../documents/records.ts";
import type { SearchBounds } from "../ports/passage-repository.ts";
import type { FoundPassage } from "../retrieval/search.ts";

export const ragPolicies = ["off", "system-message", "last-user-message"] as const;

export type RagPolicy = (typeof ragPolicies)[number];

/** Placed between the passages and the question, where small models follow it best. */
export const defaultGroundingPrompt =
  "Answer from the passages above, briefly, and name those that you used by their markers, like [1]. Where they do not hold the answer, say so.";

export interface RagSettings {
  policy: RagPolicy;
  prompt: string;
  bounds: SearchBounds;
  /** Minimum score of a passage if the request leaves grounding to the node. */
  autoThreshold: number;
  contextWindow: number;
  /** Whether a last message that refers to the one before is searched for together with it. */
  followUps: boolean;
}

/** A request's settings for grounding: it can switch it on or off, and narrow the node's bounds. */
export interface RagRequest {
  /** Default: the node's policy, or `last-user-message` if that is off. */
  policy?: RagPolicy;
  /** Whether to use passages only if they clearly match; if none does, the answer reports no grounding. */
  auto?: boolean;
  bounds: Partial<SearchBounds>;
  contextWindow?: number;
  /** Ids or names of vector stores; default: the node's collection, or those the caller is bound to. */
  stores?: readonly string[];
  /** The request's field for them; default: `rag.vector_store_ids`. */
  storesField?: string;
  filter?: AttributeFilter;
}

export interface FoundPassages {
  /** In descending score. */
  points: readonly FoundPassage[];
  error?: string;
  /** How the question was changed before the search, and whether passages are still being stored. */
  notice?: string;
}

/** Its passages are in the order of their numbers: those of earlier turns, then this turn's. */
export interface Grounding extends FoundPassages {
  /** How many matched, now or in earlier turns, but were left out: contained in another, or no room. */
  dropped: number;
  /** How many of `points`, from the first, belong to earlier turns. */
  carried: number;
}
