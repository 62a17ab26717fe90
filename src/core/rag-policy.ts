/** Where the passages of a grounded chat go, and what the model is told of them. */

export const ragPolicies = ["off", "system-message", "last-user-message"] as const;

export type RagPolicy = (typeof ragPolicies)[number];

/** Stands between the passages and the question, where small models heed it best. */
export const defaultGroundingPrompt =
  "Answer from the passages above, briefly, and name those that you used by their markers, like [1]. Where they do not hold the answer, say so.";
