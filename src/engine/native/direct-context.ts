/** A chat context driven through llama.cpp's C interface: batch, decode and samplers in one call a step. */
import type { LlamaContext, LlamaModel, Token } from "node-llama-cpp";
import { internal, isObject, isRawContext } from "./bindings.ts";
import type { ChainConfig, CInterface } from "./c-interface.ts";
import type { BatchPart, DecodeOptions, PartOutput, PreparedStep, Sampled } from "./contexts.ts";
import type { NativePointer, NativeStep } from "./native-step.ts";
import { toToken } from "./sampler.ts";

/** A step that takes no longer is worth no other thread. */
const longestWaitMs = 8;

interface DirectOptions {
  /** Whether this thread may wait for a short step: it serves nothing but the model. */
  mayWait: boolean;
}

export class DirectContext implements Disposable {
  readonly #c: CInterface;
  readonly #context: NativePointer;
  readonly #step: NativeStep;
  readonly #mayWait: boolean;
  /** Whether a step is prepared, or computed. */
  #isBusy = false;
  /** Whether that step is to be computed no more often than it must. */
  #isHalted = false;
  /** Frees what the step in progress may use. */
  #afterStep: (() => void)[] = [];

  constructor(c: CInterface, context: LlamaContext, model: LlamaModel, options: DirectOptions) {
    const raw = internal(context, "_ctx", isRawContext);
    const { batchSize, totalSequences: sequences } = context;
    this.#c = c;
    this.#mayWait = options.mayWait;
    this.#context = c.contextOf(raw, internal(model, "_model", isObject), { sequences, batchSize });
    this.#step = c.step(this.#context, { tokens: batchSize });
  }

  prepare(
    parts: readonly BatchPart[],
    total: number,
    { mostTimes = 1, onTokens }: Pick<DecodeOptions, "mostTimes" | "onTokens">,
  ): PreparedStep {
    const { outputs, samplers } = this.#step;
    this.#endStep();
    this.#isBusy = true;
    let end = 0;
    const lasts = parts.map(({ sequence, position, tokens, output, scored, sampler }) => {
      const start = end;
      end = this.#step.add(start, sequence, position, tokens);
      const last = end - 1;
      if (scored === true) outputs.fill(1, start, end);
      if (!output && scored !== true) return {};
      outputs[last] = 1;
      const chain = output ? sampler?.chain : undefined;
      if (chain !== undefined) samplers[last] = BigInt(chain);
      const withLogits = sampler?.tellsLogits === true;
      return { last, isSampled: chain !== undefined, withLogits };
    });
    const areAnswers = lasts.every(({ isSampled }) => isSampled) && parts.length === total;
    let [read, times] = [0, 0];
    const outputsSince = (): PartOutput[] => {
      const start = read;
      read = times;
      return lasts.map(({ last, isSampled = false, withLogits = false }): PartOutput => {
        if (last === undefined || !isSampled) return { output: last };
        const sampled: Sampled[] = [];
        for (let time = start; time < times; time++) {
          const token = this.#step.sampledAt(last, time, total);
          if (token < 0) return { output: last, sampled, isStuck: true };
          const logits = withLogits ? this.#logitsAt(last, time, total) : {};
          sampled.push({ token: toToken(token), ...logits });
        }
        return { output: last, sampled };
      });
    };
    const onTimes = (soFar: number): void => {
      times = soFar;
      onTokens?.(outputsSince());
    };
    return {
      compute: async (threads) => {
        try {
          // While a prompt is computed, others that have come are prepared.
          const waitMs = this.#mayWait && parts.length === total ? longestWaitMs : 0;
          const most = areAnswers && !this.#isHalted ? mostTimes : 1;
          const size = { tokens: total, threads, mostTimes: most, onTimes };
          times = await this.#step.run(size, waitMs);
        } finally {
          this.#endStep();
        }
        return times;
      },
      outputs: outputsSince,
    };
  }

  halt(): void {
    if (!this.#isBusy) return;
    this.#isHalted = true;
    this.#step.halt();
  }

  #logitsAt(index: number, time: number, total: number) {
    const { logit, top, weight } = this.#step.scoresAt(index, time, total);
    return { logit, weight, top: top.map(([id, own]) => [toToken(id), own] as const) };
  }

  #endStep(): void {
    this.#isBusy = false;
    this.#isHalted = false;
    for (const free of this.#afterStep.splice(0)) free();
  }

  /** Samples from an output of the last step, and forgets about it: compares this way with the library's. */
  likeliest(output: number): number {
    const sampler = this.makeSampler({ temperature: 0, seed: 0, top: 1 });
    try {
      return this.#c.sampleAt(sampler, this.#context, output);
    } finally {
      this.freeSampler(sampler);
    }
  }

  makeSampler(config: ChainConfig): NativePointer {
    return this.#c.sampler(this.#context, config);
  }

  freeSampler(sampler: NativePointer): void {
    this.#whenIdle(() => this.#c.freeSampler(sampler));
  }

  makeGrammar(text: string): NativePointer {
    return this.#c.grammar(this.#context, text);
  }

  /** For one that no step in progress samples with. */
  rewindGrammar(grammar: NativePointer, tokens: readonly Token[]): void {
    this.#c.rewindGrammar(grammar, tokens);
  }

  freeGrammar(grammar: NativePointer): void {
    this.#whenIdle(() => this.#c.freeGrammar(grammar));
  }

  #whenIdle(free: () => void): void {
    if (this.#isBusy) this.#afterStep.push(free);
    else free();
  }

  /** Once nothing computes any more. */
  [Symbol.dispose](): void {
    this.#endStep();
    this.#step[Symbol.dispose]();
  }
}
