/** Where the passages of a grounded chat go, and what the model is told of them. */

import { NodeError } from "../errors.ts";

export const ragPolicies = ["off", "system-message", "last-user-message"] as const;

export type RagPolicy = (typeof ragPolicies)[number];

/** Stands between the passages and the question, where small models heed it best. */
export const defaultGroundingPrompt =
  "Answer from the passages above, briefly, and name those that you used by their markers, like [1]. Where they do not hold the answer, say so.";

/** Refuses a request whose question is to be made of more messages than the node allows: each has to be tokenised. */
export function checkContextWindow(wanted: number | undefined, most: number): void {
  if (wanted === undefined || wanted <= most) return;
  const param = "rag.context_window";
  throw new NodeError(
    "invalid_request",
    `'${param}' is ${wanted}; this node allows at most ${most} (its own ${param}).`,
    { param },
  );
}
