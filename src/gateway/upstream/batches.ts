/** Splits a long list into several concurrent requests; the results are in order. */

export interface BatchBounds {
  /** Most items per request. */
  most: number;
  /** Most concurrent requests. */
  atOnce: number;
}

/** One failed request fails all. Those in progress end by their own signal. */
export async function inBatches<Item, Result>(
  items: readonly Item[],
  { most, atOnce }: BatchBounds,
  ask: (batch: readonly Item[], start: number) => Promise<readonly Result[]>,
): Promise<Result[]> {
  const starts = Array.from({ length: Math.ceil(items.length / most) }, (_, at) => at * most);
  const results = new Array<readonly Result[]>(starts.length);
  const waiting = starts.entries();
  let hasFailed = false;
  const work = async (): Promise<void> => {
    for (const [at, start] of waiting) {
      if (hasFailed) return;
      results[at] = await ask(items.slice(start, start + most), start);
    }
  };
  const workers = Array.from({ length: Math.min(atOnce, starts.length) }, async () => {
    try {
      await work();
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  });
  const outcomes = await Promise.allSettled(workers);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return results.flat();
}
