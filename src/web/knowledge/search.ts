/** The search of the node's documents: what was asked, and what came of it. */
import { signal } from "@preact/signals";
import type { RetrieveResult } from "../../client/wire.ts";
import { announce } from "../announce.ts";
import { api, withKey } from "../client.ts";
import { type Failure, failureOf } from "../failure.ts";

export interface Search {
  question: string;
  model: string;
  /** Empty fields of the form are left to the node. */
  limit?: number | undefined;
  score_threshold?: number | undefined;
  /** Ids of the collections to search; absent: the node's own. */
  collection?: string[] | undefined;
}

export type Outcome =
  | { state: "searching" }
  | { state: "found"; question: string; result: RetrieveResult; ms: number }
  | { state: "failed"; failure: Failure };

export const outcome = signal<Outcome | undefined>(undefined);

export async function search({ question, ...rest }: Search): Promise<void> {
  outcome.value = { state: "searching" };
  const startedAt = performance.now();
  try {
    const messages = [{ role: "user" as const, content: question }];
    const request = { ...rest, messages, include_metadata: true };
    const result = await withKey(() => api.retrieve(request));
    outcome.value = { state: "found", question, result, ms: performance.now() - startedAt };
    announce(`${result.points.length} passages found.`);
  } catch (error) {
    outcome.value = { state: "failed", failure: failureOf(error) };
  }
}
