/** Waiting that an AbortSignal ends. */

/** Calls back when the signal aborts, unless what is returned was disposed of before. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): Disposable {
  signal?.addEventListener("abort", callback, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", callback) };
}

/** The promise's outcome, or the signal's reason where it aborts first. */
export async function untilAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  using _ = onAbort(signal, () => reject(signal.reason));
  if (signal.aborted) reject(signal.reason);
  return await Promise.race([promise, aborted]);
}
