/** Waiting that ends early: when an AbortSignal aborts, or after a time. */

/** Calls back when the signal aborts; dispose of the result to stop listening. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): Disposable {
  signal?.addEventListener("abort", callback, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", callback) };
}

/** The promise's outcome, or the signal's reason if it aborts first. */
export async function untilAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  using _ = onAbort(signal, () => reject(signal.reason));
  if (signal.aborted) reject(signal.reason);
  return await Promise.race([promise, aborted]);
}

/** Waits for `ms`, or until the signal aborts, without throwing. Does not keep the process alive. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  using _ = onAbort(signal, resolve);
  const timer = setTimeout(resolve, ms);
  timer.unref();
  await promise;
  clearTimeout(timer);
}

/** A disk that hangs must not keep a caller from everything else. */
const longestReadMs = 1000;

export async function unlessLate<Value>(
  value: Value | Promise<Value>,
  otherwise: Value,
): Promise<Value> {
  const late = Promise.withResolvers<Value>();
  const timer = setTimeout(() => late.resolve(otherwise), longestReadMs);
  return await Promise.race([value, late.promise]).finally(() => clearTimeout(timer));
}
