/** Samples the tokens of one sequence: in a step of one call, or with node-llama-cpp's sampler. */
import {
  type LlamaGrammar,
  LlamaGrammarEvaluationState,
  type LlamaModel,
  type Token,
} from "node-llama-cpp";
import { NodeError } from "../../core/errors.ts";
import {
  internal,
  isObject,
  type RawContext,
  type RawSampler,
  type SamplerConfig,
} from "./bindings.ts";
import type { DirectContext } from "./direct-context.ts";
import { mostTop, type NativePointer } from "./native-step.ts";

/** A token with its logit after the sampler's filters, and what turns logits into probabilities. */
export interface SampledLogits {
  token: Token;
  logit: number;
  /** The likeliest tokens and their logits, likeliest first; one at the least. */
  top: readonly (readonly [Token, number])[];
  /** Sum of exp(logit - greatest logit) over all candidates. */
  weight: number;
}

interface AnswerNeeds {
  /** What the tokens have to fit. */
  grammar?: GrammarState | undefined;
  /** How many of the likeliest tokens are wanted beside each; absent: no logits. */
  topLogits?: number | undefined;
}

/** Configured again for each answer. It counts what it sampled, and advances its grammar. */
export class NativeSampler {
  readonly #context: RawContext;
  readonly #raw: RawSampler;
  readonly #direct: DirectContext | undefined;
  #config: SamplerConfig = { temperature: 0, seed: 0 };
  /** What the library's sampler is to be configured with before it is used, in this order. */
  #unapplied: readonly SamplerConfig[] = [];
  #chain: NativePointer | undefined;
  #more: AnswerNeeds = {};

  constructor(context: RawContext, raw: RawSampler, direct: DirectContext | undefined) {
    this.#context = context;
    this.#raw = raw;
    this.#direct = direct;
  }

  /** `restarts`: draws its random numbers from the first one on, even with the same seed. */
  configure(
    filters: SamplerConfig,
    { restarts = false, ...more }: AnswerNeeds & { restarts?: boolean } = {},
  ): void {
    this.#freeChain();
    this.#more = more;
    const state = more.grammar?.ofLibrary;
    const config = state === undefined ? filters : { ...filters, grammarEvaluationState: state };
    this.#config = config;
    // llama.cpp restarts its random numbers only when the seed changes, so another one is set first.
    const other = { temperature: 1, seed: config.seed === 0 ? 1 : 0 };
    this.#unapplied = [...(restarts ? [other] : this.#unapplied), config];
  }

  /** For a step of one call; undefined if the library samples. */
  get chain(): NativePointer | undefined {
    const { topLogits, grammar } = this.#more;
    // Probabilities are computed relative to the greatest logit.
    const top = topLogits === undefined ? 0 : Math.max(1, topLogits);
    if (grammar?.ofLibrary !== undefined || top > mostTop) return undefined;
    const config = { ...this.#config, grammar: grammar?.ofStep, top };
    this.#chain ??= this.#direct?.makeSampler(config);
    return this.#chain;
  }

  /** Whether steps tell the logits of what they sample. */
  get tellsLogits(): boolean {
    return this.#more.topLogits !== undefined;
  }

  async sample(output: number): Promise<Token> {
    this.#apply();
    return sampledToken(await this.#context.sampleToken(output, this.#raw));
  }

  /** The logits of a token, whether it would be sampled or not, and of the likeliest ones. */
  async logitsOf(token: Token, output: number, top: number): Promise<SampledLogits> {
    return { ...(await this.sampleWithLogits(output, top, token)), token };
  }

  /** Samples, and returns the logits of the sampled or the wanted token, and of the likeliest ones. */
  async sampleWithLogits(output: number, top: number, wanted?: Token): Promise<SampledLogits> {
    this.#apply();
    const [token, , , logits = [], weight] = await this.#context.sampleToken(
      output,
      this.#raw,
      false,
      false,
      // At least the greatest logit is needed: probabilities are computed relative to it.
      [wanted === undefined ? [] : [wanted], false, false, wanted === undefined, Math.max(1, top)],
      true,
    );
    const pairs: [Token, number][] = [];
    for (let at = 0; at + 1 < logits.length; at += 2) {
      const [id, logit] = [logits[at], logits[at + 1]];
      if (id !== undefined && logit !== undefined) pairs.push([toToken(id), logit]);
    }
    // The sampled or wanted one comes last, whether or not it is among the likeliest.
    const own = pairs.pop();
    return { token: sampledToken(token), logit: own?.[1] ?? Number.NaN, top: pairs, weight };
  }

  dispose(): void {
    this.#freeChain();
    this.#raw.dispose();
  }

  #apply(): void {
    for (const config of this.#unapplied) this.#raw.applyConfig(config);
    this.#unapplied = [];
  }

  #freeChain(): void {
    if (this.#chain !== undefined) this.#direct?.freeSampler(this.#chain);
    this.#chain = undefined;
  }
}

interface GrammarOptions {
  model: LlamaModel;
  grammar: LlamaGrammar;
  direct: DirectContext | undefined;
}

/** Where one answer is in its grammar. */
export class GrammarState implements Disposable {
  /** For steps of one call, or for the library's sampler. */
  readonly ofStep: NativePointer | undefined;
  readonly ofLibrary: object | undefined;
  readonly #direct: DirectContext | undefined;
  readonly #written: Token[] = [];

  /** Throws if llama.cpp cannot read it. */
  constructor({ model, grammar, direct }: GrammarOptions) {
    this.#direct = direct;
    if (direct !== undefined) this.ofStep = direct.makeGrammar(grammar.grammar);
    else {
      const state = new LlamaGrammarEvaluationState({ model, grammar });
      this.ofLibrary = internal(state, "_state", isObject);
    }
  }

  /** Steps that went on may have taken it further than the answer did. */
  enter(): void {
    if (this.ofStep === undefined || this.#written.length === 0) return;
    this.#direct?.rewindGrammar(this.ofStep, this.#written);
  }

  /** `written`: the answer's tokens since it was entered. */
  leave(written: readonly Token[]): void {
    for (const token of written) this.#written.push(token);
  }

  [Symbol.dispose](): void {
    if (this.ofStep !== undefined) this.#direct?.freeGrammar(this.ofStep);
  }
}

function sampledToken(token: number): Token {
  if (token >= 0) return toToken(token);
  throw nothingLeft();
}

export const nothingLeft = (): NodeError =>
  new NodeError("internal", "llama.cpp left no token to choose from.");

/** The library brands numbers that are tokens. */
const isToken = (value: number): value is Token => value >= 0;

export function toToken(value: number): Token {
  if (isToken(value)) return value;
  throw new NodeError("internal", `${value} is no token.`);
}
