/** Texts that are cut to what a server reads at once, where it does not do that itself. */
import type { TextCounter } from "./token-counters.ts";

/** How much of what seems to fit is taken: tokens are not of one length. */
const share = 0.9;
/** It is cut by guessing, and then taken as it is. */
const mostRounds = 6;

/** The beginning of each text that has at most so many tokens. */
export async function cutToTokens(
  texts: readonly string[],
  most: number,
  count: TextCounter,
  signal: AbortSignal,
): Promise<string[]> {
  const cut = [...texts];
  // No text has more tokens than bytes, besides the model's markers.
  let long = [...cut.keys()].filter((at) => Buffer.byteLength(cut[at] ?? "") > most);
  for (let round = 0; round < mostRounds && long.length > 0; round++) {
    const counts = await count(
      long.map((at) => cut[at] ?? ""),
      signal,
    );
    long = long.filter((at, index) => {
      const tokens = counts[index] ?? 0;
      const text = cut[at] ?? "";
      if (tokens <= most) return false;
      cut[at] = text.slice(0, Math.floor((text.length * most * share) / tokens));
      return true;
    });
  }
  return cut;
}
