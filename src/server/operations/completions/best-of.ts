/** The best of several answers to each prompt: those with the highest log probability per token. */
import { NodeError } from "../../../core/errors.ts";
import type { Draft } from "./to-completion.ts";
import type { Candidates } from "./wire.ts";

/** Those of each prompt that are sent, best first; the prompts stay in their order. */
export function bestOf(
  drafts: readonly Draft[],
  { generated, sent, areRanked }: Candidates,
): readonly Draft[] {
  if (!areRanked) return drafts;
  return Array.from({ length: drafts.length / generated }, (_, at) =>
    drafts
      .slice(at * generated, (at + 1) * generated)
      .map((draft) => ({ draft, score: scoreOf(draft) }))
      .sort((one, other) => other.score - one.score)
      .slice(0, sent)
      .map(({ draft }) => draft),
  ).flat();
}

/** An answer without text is the last choice. */
function scoreOf({ scores, isUnscored }: Draft): number {
  if (!isUnscored && scores.length === 0) return Number.NEGATIVE_INFINITY;
  if (!isUnscored) return scores.reduce((sum, score) => sum + score, 0) / scores.length;
  throw new NodeError(
    "invalid_request",
    "'best_of' cannot be honoured: the server that this model runs on gives no log probabilities to choose by. Send 'n' and choose yourself.",
    { param: "best_of" },
  );
}
