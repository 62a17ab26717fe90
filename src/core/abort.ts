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

/** Waits so long, or until the signal aborts, which is no failure; no process stays alive for it alone. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  using _ = onAbort(signal, resolve);
  const timer = setTimeout(resolve, ms);
  timer.unref();
  await promise;
  clearTimeout(timer);
}
