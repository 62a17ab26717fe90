/** Merges async iterables: each value comes as soon as it is ready, and none is read more than one ahead. */

export interface Numbered<Value> {
  index: number;
  value: Value;
}

interface MergeOptions {
  /** Called when the others end early: `return()` reaches an iteration only after its next value, and one may be waiting. */
  abandon?: () => void;
  toError?: (error: unknown, index: number) => unknown;
}

export function merge<Value>(
  iterables: readonly AsyncIterable<Value>[],
  options: MergeOptions = {},
): AsyncGenerator<Numbered<Value>> {
  const [only] = iterables;
  return only !== undefined && iterables.length === 1
    ? numbered(only)
    : mergeAll(iterables, options);
}

/** Fast path: most chats have one answer, and every token passes here. */
async function* numbered<Value>(only: AsyncIterable<Value>): AsyncGenerator<Numbered<Value>> {
  for await (const value of only) yield { index: 0, value };
}

async function* mergeAll<Value>(
  iterables: readonly AsyncIterable<Value>[],
  { abandon, toError = (error) => error }: MergeOptions,
): AsyncGenerator<Numbered<Value>> {
  const iterators = iterables.map((iterable) => iterable[Symbol.asyncIterator]());
  const step = async (index: number) => {
    try {
      return { index, result: await iterators[index]?.next() };
    } catch (error) {
      throw toError(error, index);
    }
  };
  const pending = new Map(iterators.map((_, index) => [index, step(index)]));
  try {
    while (pending.size > 0) {
      const { index, result } = await Promise.race(pending.values());
      if (result === undefined || result.done === true) {
        pending.delete(index);
        continue;
      }
      // It moves to the end, so that an iteration that is always ready does not starve the others.
      pending.delete(index);
      pending.set(index, step(index));
      yield { index, value: result.value };
    }
  } finally {
    // A step that is still pending may fail later, when nothing awaits it any more.
    for (const unread of pending.values()) unread.catch(() => {});
    if (pending.size > 0) abandon?.();
    await Promise.allSettled(iterators.map((iterator) => iterator.return?.()));
  }
}
