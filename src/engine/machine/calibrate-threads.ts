/** Measures how many threads suit a model: on a small one, synchronising threads costs more than it gains. */
import type { LlamaContext, LlamaModel, Token } from "node-llama-cpp";
import type { StepThreads } from "../../core/models/model.ts";
import type { Backend } from "../backend.ts";
import { fewTokens, NativeChatContext } from "../native/chat-context.ts";

export interface ThreadChoice {
  threads: StepThreads;
  reason: string;
}

/** Bytes; a larger model keeps every thread busy anyway, and would take long to measure. */
const largestTried = 512 * 1024 * 1024;
const steps = 12;
/** Tokens in the KV cache during the measurement: attention over them is much of a small model's work. */
const depth = 128;
/** Bounds a try, so that cores that are busy with something else do not delay the start. */
const longestTryMs = 250;
/**
 * All threads are used only where they are faster than one by this factor. The program itself needs
 * a core for what it does with the tokens, and a thread that waits for a core holds up all others.
 * A step of one token is so short that this matters most there.
 */
const worthMore = { one: 1.7, few: 1.2 };

export async function calibrateThreads(
  { threads }: Pick<Backend, "threads">,
  model: LlamaModel,
): Promise<ThreadChoice> {
  const all = { one: threads, few: threads };
  if (threads === 1) return { threads: all, reason: "the budget is one" };
  if (model.size > largestTried || model.gpuLayers > 0) {
    return { threads: all, reason: "the whole budget, as for any large model" };
  }
  await using context = await model.createContext({
    sequences: fewTokens,
    contextSize: 2 * depth,
    batchSize: depth,
    threads,
  });
  const one = await choose(context, model, { tokens: 1, threads, worth: worthMore.one });
  const few = await choose(context, model, { tokens: fewTokens, threads, worth: worthMore.few });
  return {
    threads: { one: one.threads, few: few.threads },
    reason: `one token a step: ${one.figures}; ${fewTokens} tokens: ${few.figures}`,
  };
}

async function choose(
  context: LlamaContext,
  model: LlamaModel,
  { tokens, threads, worth }: { tokens: number; threads: number; worth: number },
): Promise<{ threads: number; figures: string }> {
  const alone = await speed(context, model, tokens, 1);
  const together = await speed(context, model, tokens, threads);
  return {
    threads: together > alone * worth ? threads : 1,
    figures: `${Math.round(alone)} tokens/s with 1 and ${Math.round(together)} with ${threads}`,
  };
}

/** Tokens a second of so many sequences; the better of two tries. */
async function speed(
  context: LlamaContext,
  model: LlamaModel,
  tokens: number,
  threads: number,
): Promise<number> {
  const native = new NativeChatContext(context, model, { one: threads, few: threads });
  const [token] = model.iterateAllTokens();
  if (token === undefined) return 0;
  await fill(native, tokens, token);
  let best = 0;
  let position = depth;
  for (let attempt = 0; attempt < 2; attempt++) {
    const startedAt = performance.now();
    const first = position;
    while (position < first + steps && performance.now() - startedAt < longestTryMs) {
      await native.decode(partsAt(position, tokens, token));
      position++;
    }
    const made = (position - first) * tokens;
    best = Math.max(best, (made / (performance.now() - startedAt)) * 1000);
  }
  native.releaseThreads();
  return best;
}

/** Fills each of the sequences with tokens. */
async function fill(native: NativeChatContext, sequences: number, token: Token): Promise<void> {
  for (let id = 0; id < sequences; id++) native.truncate(id, 0);
  const tokens = Array.from({ length: depth }, () => token);
  await native.decode([{ sequence: 0, position: 0, tokens, output: false }]);
  for (let id = 1; id < sequences; id++) await native.copy(id, 0);
}

const partsAt = (position: number, count: number, token: Token) =>
  Array.from({ length: count }, (_, sequence) => ({
    sequence,
    position,
    tokens: [token],
    output: true,
  }));
