/** What all the work for one request used, as its answer counts it. */
import { given } from "../core/given.ts";
import type { FinishedWork, UsedTokens } from "../core/ports/telemetry.ts";

/** Undefined where no model worked. */
export function usedTokens(work: readonly FinishedWork[]): UsedTokens | undefined {
  const answers = work.filter((done) => done.type === "answered");
  if (answers.length > 0) {
    const prompt = answers.find(({ promptTokens }) => promptTokens !== undefined)?.promptTokens;
    const usages = answers.flatMap(({ usage }) => usage ?? []);
    return {
      // Of several answers to one prompt the prompt counts once; what one had to evaluate was not cached.
      ...given({ prompt }),
      ...(usages.length === 0
        ? {}
        : { cached: Math.min(...usages.map(({ cachedTokens }) => cachedTokens)) }),
      completion: answers.reduce((sum, { generatedTokens }) => sum + generatedTokens, 0),
    };
  }
  const embedded = work.filter((done) => done.type === "embedded");
  // What a search reads of the node's own passages is not the caller's: its question was embedded.
  const read = embedded.length > 0 ? embedded : work.filter((done) => done.type === "reranked");
  if (read.length === 0) return undefined;
  return { prompt: read.reduce((sum, { tokens }) => sum + tokens, 0), completion: 0 };
}
