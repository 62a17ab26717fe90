/** Metering: charges the tokens that a request used to its caller, also where its answer broke off. */
import type { FinishedWork } from "../../core/ports/telemetry.ts";
import type { RequestContext } from "../request-context.ts";
import { usedTokens } from "../used-tokens.ts";

/** Called when the answer has ended; what was charged once is not charged again. */
export function meter(context: RequestContext): void | Promise<void> {
  if (context.isMetered) return;
  context.isMetered = true;
  const { work, signal, isAnswered } = context;
  const answers = work.filter((done) => done.type === "answered");
  const isOwed = answers.length === 0 ? isAnswered : answers.some(owes(signal.aborted));
  const used = isOwed ? usedTokens(work) : undefined;
  if (used !== undefined) return context.lease.charge((used.prompt ?? 0) + used.completion);
}

/** A caller who leaves owes the prompt that the model had begun with, and so does one who wanted no more than it; of one that failed nothing came. */
const owes =
  (hasLeft: boolean) =>
  ({ generatedTokens, startedAt, usage }: Extract<FinishedWork, { type: "answered" }>): boolean =>
    generatedTokens > 0 || usage !== undefined || (hasLeft && startedAt !== undefined);
