/** Computes the batch that a context was given, with the threads that the process has left. */
import type { LlamaModel } from "node-llama-cpp";
import type { RawContext, ThreadConsumer } from "./bindings.ts";

/** Uses as many threads as the process has free, but no more than `most`; returns how many, and the time that it took. */
export async function decodeBatch(
  raw: RawContext,
  consumer: ThreadConsumer,
  gpu: LlamaModel["llama"]["gpu"],
  most = Number.POSITIVE_INFINITY,
): Promise<{ threads: number; ms: number }> {
  const [free, handle] = await consumer.getAllocationToConsume();
  const threads = Math.min(free, most);
  try {
    raw.setThreads(threads);
    const startedAt = performance.now();
    await oneAtATime(gpu === "vulkan", () => raw.decodeBatch());
    return { threads, ms: performance.now() - startedAt };
  } finally {
    handle[Symbol.dispose]();
  }
}

/** Vulkan's driver crashes when two contexts decode at the same time, so there they take turns. */
let vulkanIsBusy: Promise<void> = Promise.resolve();

async function oneAtATime(needed: boolean, work: () => Promise<void>): Promise<void> {
  if (!needed) return await work();
  const before = vulkanIsBusy;
  const { promise, resolve } = Promise.withResolvers<void>();
  vulkanIsBusy = promise;
  await before;
  try {
    await work();
  } finally {
    resolve();
  }
}
