/** What all the work for one request used, as its answer counts it. */
import { given } from "../core/given.ts";
import type { FinishedWork, UsedTokens } from "../core/ports/telemetry.ts";

/** Undefined where no model worked. */
export function usedTokens(work: readonly FinishedWork[]): UsedTokens | undefined {
  const answers = work.filter((done) => done.type === "answered");
  if (answers.length > 0) {
    // Of several answers to one prompt the prompt counts once; what one had to evaluate was not cached.
    const prompts = [...Map.groupBy(answers, ({ prompt }) => prompt).values()];
    const prompt = sumOf(prompts, (of) => of.flatMap(({ promptTokens }) => promptTokens ?? [])[0]);
    const cached = sumOf(prompts, (of) => {
      const usages = of.flatMap(({ usage }) => usage ?? []);
      return usages.length === 0
        ? undefined
        : Math.min(...usages.map(({ cachedTokens }) => cachedTokens));
    });
    return {
      ...given({ prompt, cached }),
      completion: answers.reduce((sum, { generatedTokens }) => sum + generatedTokens, 0),
    };
  }
  const embedded = work.filter((done) => done.type === "embedded");
  // What a search reads of the node's own passages is not the caller's: its question was embedded.
  const read = embedded.length > 0 ? embedded : work.filter((done) => done.type === "reranked");
  if (read.length === 0) return undefined;
  return { prompt: read.reduce((sum, { tokens }) => sum + tokens, 0), completion: 0 };
}

/** Undefined where nothing is known of any. */
function sumOf<Item>(
  items: readonly Item[],
  of: (item: Item) => number | undefined,
): number | undefined {
  const known = items.flatMap((item) => of(item) ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}
