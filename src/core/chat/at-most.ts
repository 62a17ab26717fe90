/** Iterations of which at most so many run at the same time; the next begins when one has ended. */

export function atMost<Value>(
  most: number,
  starts: readonly (() => AsyncIterable<Value>)[],
  signal: AbortSignal,
): AsyncIterable<Value>[] {
  let free = most;
  const waiting: (() => void)[] = [];
  const place = async (): Promise<void> => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return starts.map(async function* (start) {
    await place();
    try {
      signal.throwIfAborted();
      yield* start();
    } finally {
      leave();
    }
  });
}
