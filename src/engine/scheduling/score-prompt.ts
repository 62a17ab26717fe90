/** The logits of a prompt's own tokens, from the outputs of those before them. */
import type { RunningAnswer } from "./running-answer.ts";

/** `evaluated`: how many tokens the batch had of it; `last`: the index of the last one's output. */
export async function scorePrompt(
  run: RunningAnswer,
  evaluated: number,
  last: number,
): Promise<void> {
  const { promptScores: scores } = run.answer;
  const start = run.sequence.tokens.length - evaluated;
  for (let at = 0; at < evaluated && scores !== undefined && !run.stopped; at++) {
    const next = run.scheduled.prompt[start + at + 1];
    if (next === undefined) return;
    // One after the other: a sampler does one thing at a time.
    scores.take(await scores.scorer.logitsOf(next, last - evaluated + 1 + at, scores.top));
  }
}
