/** Long lists in several requests, some of them at the same time, with the results in order. */

export interface BatchBounds {
  /** Most items of a request. */
  most: number;
  /** Most requests at the same time. */
  atOnce: number;
}

/** A request that fails fails them all; those under way end by the signal that they were given. */
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
