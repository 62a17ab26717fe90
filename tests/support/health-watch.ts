/** Asks a node's health again and again from a thread of its own, which a busy test does not slow down. */
import { expect } from "bun:test";
import type { ServingPaddock } from "./paddock-process.ts";

export interface HealthSeen {
  /** How often it was answered. */
  answers: number;
  /**
   * The most CPU time that the node's main thread used between two answers, in milliseconds: others
   * wait for as long on a machine that has nothing else to do. Undefined where there is no /proc.
   */
  longestMs: number | undefined;
}

export interface HealthWatch extends Disposable {
  /** What was seen since it was last asked for. */
  seen(): Promise<HealthSeen>;
}

export async function watchHealth({ origin, process }: ServingPaddock): Promise<HealthWatch> {
  const worker = new Worker(new URL("./health-watch-thread.ts", import.meta.url).href);
  const ask = (message: unknown): Promise<HealthSeen> =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message: reason }) => reject(new Error(reason));
      worker.postMessage(message);
    });
  await ask({ origin, pid: process.pid });
  return {
    seen: () => ask("seen"),
    [Symbol.dispose]: () => worker.terminate(),
  };
}

/** The rule of docs/architecture.md: others are answered, and wait for less than a second of work. */
const mostMs = 1000;

/**
 * Where the watching thread itself waits for a core, the work of several turns counts as one. Work
 * that is done in one turn is so every time: the least of a few measurements tells them apart.
 */
export async function expectOthersAnswered(watched: () => Promise<HealthSeen>): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 5 && least >= mostMs; tries++) {
    const { answers, longestMs = 0 } = await watched();
    expect(answers).toBeGreaterThan(0);
    least = Math.min(least, longestMs);
  }
  expect(least).toBeLessThan(mostMs);
}
