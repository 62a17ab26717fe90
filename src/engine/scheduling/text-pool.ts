/** The contexts of a model that reads texts, which share the threads. */
import type { Token } from "node-llama-cpp";
import type { StepThreads, StepWatch } from "../machine/steps.ts";
import { type TextContext, tokensOf } from "../native/text-context.ts";
import { ContextPool } from "./context-pool.ts";

export interface TextContexts {
  contexts: readonly [TextContext, ...TextContext[]];
  threads: number;
  stepThreads: StepThreads;
  steps: StepWatch;
  /** Whether this thread may wait for a short text; default: false. */
  mayWait?: boolean;
  /** Called once nothing computes any more. */
  onClose?: () => void;
}

/** Its jobs are texts, as tokens with special tokens; its results their vectors. */
export function textPool({
  contexts,
  threads,
  stepThreads,
  steps,
  mayWait = false,
  onClose = () => {},
}: TextContexts): ContextPool<TextContext, readonly Token[], Float32Array> {
  return new ContextPool({
    contexts,
    steps,
    onClose,
    sizeOf: (tokens) => tokens.length,
    packing: contexts[0].packing,
    async compute(context, texts, { isAlone, inBackground }) {
      // A single text gets all free threads; several at once are faster with one thread each.
      const tokens = tokensOf(texts);
      const free = Math.max(1, threads - inBackground);
      const { vectors, ...step } = await context.compute(
        texts,
        isAlone ? Math.min(stepThreads.threadsFor(tokens), free) : 1,
        mayWait && isAlone,
      );
      if (isAlone) stepThreads.took({ ...step, tokens, now: performance.now() });
      return vectors;
    },
  });
}
