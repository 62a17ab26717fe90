/** Samples an answer's tokens: llama.cpp parameters, `logit_bias` and log probabilities. */
import type { Token } from "node-llama-cpp";
import { NodeError } from "../../core/errors.ts";
import type {
  GenerationSettings,
  Sampling,
  TokenLogprob,
  TokenLogprobs,
} from "../../core/ports/chat-engine.ts";
import type { SamplerConfig } from "../native/bindings.ts";
import type { GrammarState, NativeSampler, SampledLogits } from "../native/sampler.ts";
import type { TokenBytes } from "../tokenizer/vocabulary.ts";

/** Number of seeds: one fewer than 32 bits hold, since llama.cpp takes the last for "random". */
const seeds = 2 ** 32 - 1;

interface AnswerSampling {
  request: Pick<GenerationSettings, "sampling" | "seed" | "topLogprobs">;
  contextSize: number;
  bias: TokenBias | undefined;
}

export class AnswerSampler {
  readonly native: NativeSampler;
  readonly #options: AnswerSampling;
  readonly #seed: number;
  #grammar: GrammarState | undefined;
  #begun = false;
  /** How many tokens the answer had when this grammar began. */
  #since = 0;

  constructor(native: NativeSampler, options: AnswerSampling) {
    this.native = native;
    this.#options = options;
    const { seed } = options.request;
    this.#seed = seed === undefined ? randomSeed() : ((seed % seeds) + seeds) % seeds;
  }

  /** Sets the grammar for the next token; returns whether it is another one. While it stays the same, llama.cpp itself keeps count of what it sampled. */
  use(grammar: GrammarState | undefined, generated: readonly Token[]): boolean {
    if (this.#begun && grammar === this.#grammar) return false;
    const restarts = !this.#begun;
    this.#begun = true;
    this.#grammar?.leave(generated.slice(this.#since));
    this.#grammar = grammar;
    this.#since = generated.length;
    grammar?.enter();
    const config = {
      ...toFilters(this.#options.request.sampling),
      ...toPenalties(this.#options.request.sampling, generated, this.#options.contextSize),
      // Not under a grammar: what it requires, such as JSON field names, is no repetition.
      ...(grammar === undefined ? toDry(this.#options) : {}),
      seed: this.#seed,
      ...this.#options.bias,
    };
    const { topLogprobs: topLogits } = this.#options.request;
    this.native.configure(config, { restarts, grammar, topLogits });
    return true;
  }
}

/** A filter that is off is left out: top_k over all tokens, for one, would sort the whole vocabulary. */
function toFilters({ temperature, topK, topP, minP }: Sampling): Omit<SamplerConfig, "seed"> {
  return {
    temperature,
    ...(topK > 0 ? { topK } : {}),
    ...(topP < 1 ? { topP } : {}),
    ...(minP > 0 ? { minP } : {}),
  };
}

function toPenalties(
  { repeatPenalty, presencePenalty, frequencyPenalty, repeatLastN }: Sampling,
  generated: readonly Token[],
  contextSize: number,
): Partial<SamplerConfig> {
  const isOff = repeatPenalty === 1 && presencePenalty === 0 && frequencyPenalty === 0;
  if (isOff || repeatLastN === 0) return {};
  return {
    repeatPenalty,
    repeatPenaltyPresencePenalty: presencePenalty,
    repeatPenaltyFrequencyPenalty: frequencyPenalty,
    repeatPenaltyMaxTokens: windowOf(repeatLastN, contextSize),
    repeatPenaltyTokens: Uint32Array.from(generated),
  };
}

/** None: with llama.cpp's defaults, which include line ends, a short line was repeated 42 times. */
const sequenceBreakers: string[] = [];

function toDry({ request: { sampling }, contextSize }: AnswerSampling): Partial<SamplerConfig> {
  const { dryMultiplier, dryBase, dryAllowedLength, repeatLastN } = sampling;
  if (dryMultiplier === 0 || repeatLastN === 0) return {};
  return {
    dryRepeatPenaltyStrength: dryMultiplier,
    dryRepeatPenaltyBase: dryBase,
    dryRepeatPenaltyAllowedLength: dryAllowedLength,
    dryRepeatPenaltyLastTokens: windowOf(repeatLastN, contextSize),
    dryRepeatPenaltySequenceBreakers: sequenceBreakers,
  };
}

/** llama.cpp rejects -1, and allocates the whole window. */
const windowOf = (lastN: number, contextSize: number): number =>
  lastN < 0 ? contextSize : Math.min(lastN, contextSize);

/** The library's default is the time in seconds: two requests in a second would get one answer. */
const randomSeed = (): number => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % seeds;

export type TokenBias = Required<Pick<SamplerConfig, "tokenBiasKeys" | "tokenBiasValues">>;

/** End-of-generation tokens may be biased like any other. */
export function toTokenBias(
  biases: ReadonlyMap<number, number>,
  tokenBytes: TokenBytes,
): TokenBias {
  const tokens = tokenBytes.tokensOf(
    biases.keys(),
    (why) => new NodeError("invalid_request", `'logit_bias' ${why}`, { param: "logit_bias" }),
  );
  return {
    tokenBiasKeys: Uint32Array.from(tokens),
    tokenBiasValues: Float32Array.from(biases.values()),
  };
}

/** What the OpenAI API reports for a token that could not be drawn at all. */
const lowest = -9999;
const decoder = new TextDecoder();

/** Log probabilities for the OpenAI API, from the distribution that a token was drawn from. */
export function toLogprobs(
  tokenBytes: TokenBytes,
  { token, logit: own, top, weight }: SampledLogits,
  wanted: number,
): TokenLogprobs {
  const greatest = top[0]?.[1] ?? Number.NaN;
  const logprobOf = (logit: number): number =>
    Math.max(logit - greatest - Math.log(weight), lowest);
  const likeliest = top
    .slice(0, wanted)
    .map(([id, logit]) => describe(tokenBytes, id, logprobOf(logit)));
  return { ...describe(tokenBytes, token, logprobOf(own)), top: likeliest };
}

export function describe(tokenBytes: TokenBytes, token: Token, logprob: number): TokenLogprob {
  const bytes = tokenBytes.of(token);
  return { token: decoder.decode(bytes), logprob, bytes: [...bytes] };
}
