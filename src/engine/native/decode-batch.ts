/** Computes the batch that a context was given, with the threads that the process has left. */
import type { LlamaModel } from "node-llama-cpp";
import type { RawContext, ThreadConsumer } from "./bindings.ts";

/** Uses as many threads as the process has free, but no more than `most`. */
export async function decodeBatch(
  raw: RawContext,
  consumer: ThreadConsumer,
  gpu: LlamaModel["llama"]["gpu"],
  most = Number.POSITIVE_INFINITY,
): Promise<void> {
  const [threads, handle] = await consumer.getAllocationToConsume();
  try {
    raw.setThreads(Math.min(threads, most));
    await oneAtATime(gpu === "vulkan", () => raw.decodeBatch());
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
