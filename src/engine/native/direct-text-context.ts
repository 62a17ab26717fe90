/** A context of a model that reads texts, driven through llama.cpp's C interface: several texts in one pass. */
import type { LlamaContext, LlamaContextOptions, LlamaModel, Token } from "node-llama-cpp";
import { reasonOf } from "../../core/errors.ts";
import type { Backend } from "../load-backend.ts";
import type { TextProof } from "../prove-model.ts";
import type { Packing } from "../scheduling/context-pool.ts";
import { internal, isObject, isRawContext } from "./bindings.ts";
import type { CInterface } from "./c-interface.ts";
import { flashAttentionTile, onThreads, threadsOf } from "./contexts.ts";
import type { NativeStep } from "./native-step.ts";
import { type ComputedTexts, type TextContext, tokensOf } from "./text-context.ts";

/** A lone text that takes no longer is computed while nothing else in the process goes on. */
const longestWaitMs = 100;

/** Computes texts with one context of llama.cpp. */
class TextStep implements Disposable {
  readonly #model: LlamaModel;
  readonly #step: NativeStep;
  readonly #dimension: number;
  readonly mostTokens: number;

  /** `context`: one that embeds or ranks, with as many sequences as texts are computed together. */
  constructor(c: CInterface, context: LlamaContext, dimension: number) {
    const { model, batchSize, totalSequences: sequences } = context;
    const raw = internal(context, "_ctx", isRawContext);
    const expected = { sequences, batchSize };
    const pointer = c.contextOf(raw, internal(model, "_model", isObject), expected);
    this.#model = model;
    this.#dimension = dimension;
    this.mostTokens = batchSize;
    const sizes = { tokens: batchSize, vectors: sequences, dimension };
    this.#step = c.step(pointer, sizes);
  }

  async compute(
    texts: readonly (readonly Token[])[],
    most: number,
    mayWait: boolean,
  ): Promise<ComputedTexts> {
    const { outputs, vectors } = this.#step;
    let total = 0;
    for (const [sequence, tokens] of texts.entries()) {
      total = this.#step.add(total, sequence, 0, tokens);
    }
    outputs.fill(1, 0, total);
    using consumer = threadsOf(this.#model.llama, most);
    const run = async (threads: number): Promise<void> => {
      const waitMs = mayWait ? longestWaitMs : 0;
      await this.#step.run({ tokens: total, vectors: texts.length, threads }, waitMs);
    };
    const { threads, ms } = await onThreads(consumer, run, this.#model.llama.gpu);
    const size = this.#dimension;
    return {
      threads,
      ms,
      vectors: texts.map((_, of) => vectors.slice(of * size, (of + 1) * size)),
    };
  }

  /** Once nothing computes any more. */
  [Symbol.dispose](): void {
    this.#step[Symbol.dispose]();
  }
}

class DirectTextContext implements TextContext {
  readonly packing: Packing;
  readonly whole: TextStep;
  /** For fewer tokens than `shortTokens`. */
  readonly short: TextStep;

  constructor(packing: Packing, whole: TextStep, short: TextStep) {
    this.packing = packing;
    this.whole = whole;
    this.short = short;
  }

  compute(
    texts: readonly (readonly Token[])[],
    most: number,
    mayWait = false,
  ): Promise<ComputedTexts> {
    return (tokensOf(texts) < shortTokens ? this.short : this.whole).compute(texts, most, mayWait);
  }
}

/** Fewer are computed sooner without flash attention, on a CPU. */
const shortTokens = flashAttentionTile;

/** Texts that are computed together: on a CPU only short ones gain by it, and two or three lose. */
const packings = {
  cpu: { mostJobs: 16, mostSize: 192, leastSize: shortTokens },
  // A score differs in the fourth place beside others.
  rankingOnCpu: { mostJobs: 1, mostSize: 0 },
  accelerator: { mostJobs: 64, mostSize: 512, fills: true },
};
/** Contexts on an accelerator: a batch that fills it would take longer to prepare than several that are prepared side by side. */
const acceleratorContexts = 4;
/** Rounding differs with the size of a batch; of a vector's length. */
const mostUnlike = 0.04;

interface DirectTexts {
  contexts: readonly [DirectTextContext, ...DirectTextContext[]];
  onClose: () => void;
}

export interface TextModel {
  size: number;
  /** Whether it scores texts; default: false. */
  ranks?: boolean;
  /** Numbers of a vector; a score is one. */
  dimension: number;
}

interface Opening {
  backend: Backend;
  model: LlamaModel;
  /** Disposes of a context with the model. */
  keep: (context: LlamaContext) => LlamaContext;
}

/** Undefined if they do not work here: where the C interface does not, and for models that read from left to right. */
export async function openDirectTexts(
  { backend, model, keep }: Opening,
  { size, ranks = false, dimension }: TextModel,
  { tokens, vector }: TextProof,
): Promise<DirectTexts | undefined> {
  const { c, name, threads } = backend;
  const isEncoder = model.fileInfo.architectureMetadata.attention?.causal === false;
  if (c === undefined || !isEncoder) return undefined;
  const isCpu = name === "cpu";
  const onCpu = ranks ? packings.rankingOnCpu : packings.cpu;
  const packing: Packing = isCpu ? onCpu : packings.accelerator;
  const made: LlamaContext[] = [];
  try {
    // Freed where the contexts do not work, before these are.
    using native = new DisposableStack();
    const make = async (settings: LlamaContextOptions): Promise<TextStep> => {
      const sequences = packing.mostJobs;
      const kind = { _embeddings: true, _ranking: ranks };
      const options = { sequences, contextSize: size, threads: 1, ...kind };
      const context = keep(await model.createContext({ ...options, ...settings }));
      made.push(context);
      return native.use(new TextStep(c, context, dimension));
    };
    const open = async (): Promise<DirectTextContext> => {
      const whole = await make({ batchSize: Math.max(size, packing.mostSize) });
      // Scores are compared with each other, so all of them are computed with it.
      const isSame = !isCpu || ranks;
      const short = isSame ? whole : await make({ batchSize: shortTokens, flashAttention: false });
      return new DirectTextContext(packing, whole, short);
    };
    const first = await open();
    for (const step of [first.whole, first.short]) {
      const texts = [tokens, tokens.slice(0, -1), tokens];
      const fits = packing.mostJobs > 1 && tokensOf(texts) <= step.mostTokens;
      const { vectors } = await step.compute(fits ? texts : [tokens], threads, false);
      if (!isAlike(vectors[0], vector) || !isAlike(vectors.at(-1), vector)) {
        throw new Error("its vectors are not node-llama-cpp's");
      }
    }
    const count = isCpu ? threads : acceleratorContexts;
    // All have settled before any is freed.
    const others = await Promise.allSettled(Array.from({ length: count - 1 }, open));
    const contexts: [DirectTextContext, ...DirectTextContext[]] = [first];
    for (const other of others) {
      if (other.status === "rejected") throw other.reason;
      contexts.push(other.value);
    }
    const owned = native.move();
    return { contexts, onClose: () => owned.dispose() };
  } catch (error) {
    backend.declineC(reasonOf(error));
    await Promise.all(made.map((context) => context.dispose()));
    return undefined;
  }
}

function isAlike(one: Float32Array | undefined, other: Float32Array): boolean {
  const distance = Math.hypot(...other.map((value, at) => value - (one?.[at] ?? Number.NaN)));
  // A score may be near 0.
  const length = other.length === 1 ? 1 : Math.hypot(...other);
  return distance < mostUnlike * length;
}
