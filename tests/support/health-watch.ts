/** Asks a node's health again and again from a thread of its own, which a busy test does not slow down. */

export interface HealthWatch extends Disposable {
  /**
   * The slowest answer since it was last asked for, in milliseconds; of a process that is known, no more
   * than its main thread computed meanwhile: an answer that waits for its turn on a busy machine is not slow.
   */
  slowest(): Promise<number>;
}

export async function watchHealth(origin: string, pid?: number): Promise<HealthWatch> {
  const worker = new Worker(new URL("./health-watch-thread.ts", import.meta.url).href);
  const ask = (message: unknown): Promise<number> =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(Number(data));
      worker.onerror = ({ message: reason }) => reject(new Error(reason));
      worker.postMessage(message);
    });
  await ask({ origin, pid });
  return {
    slowest: () => ask("slowest"),
    [Symbol.dispose]: () => worker.terminate(),
  };
}
