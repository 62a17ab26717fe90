/** How many threads suit a model: measured, since on a small one threads spend more on meeting than on work. */
import type { LlamaModel } from "node-llama-cpp";
import type { Backend } from "./backend.ts";

export interface ThreadChoice {
  threads: number;
  reason: string;
}

/** A larger model always has work enough for every thread, and would take long to try. */
const largestTried = 512 * 1024 * 1024;
const tokens = 16;
/** Whatever else keeps the cores busy, the start does not wait for it. */
const longestTryMs = 500;
/** More threads must be worth it: they are taken from others. */
const worthMore = 1.1;

export async function calibrateThreads(
  { threads }: Pick<Backend, "threads">,
  model: LlamaModel,
): Promise<ThreadChoice> {
  if (threads === 1) return { threads, reason: "the budget is one" };
  if (model.size > largestTried || model.gpuLayers > 0) {
    return { threads, reason: "the whole budget, as for any large model" };
  }
  const one = await speed(model, 1);
  const all = await speed(model, threads);
  const figures = `measured ${Math.round(one)} tokens/s with 1 and ${Math.round(all)} with ${threads}`;
  return { threads: all > one * worthMore ? threads : 1, reason: figures };
}

/** Tokens a second of one sequence; the better of two tries. */
async function speed(model: LlamaModel, threads: number): Promise<number> {
  const context = await model.createContext({ contextSize: 64, batchSize: 64, threads });
  try {
    const sequence = context.getSequence();
    let best = 0;
    for (let attempt = 0; attempt < 2; attempt++) {
      await sequence.clearHistory();
      const [first] = model.iterateAllTokens();
      if (first === undefined) break;
      const startedAt = performance.now();
      let made = 0;
      for await (const _ of sequence.evaluate([first], { temperature: 0, yieldEogToken: true })) {
        made++;
        if (made >= tokens || performance.now() - startedAt > longestTryMs) break;
      }
      best = Math.max(best, (made / (performance.now() - startedAt)) * 1000);
    }
    return best;
  } finally {
    await context.dispose();
  }
}
