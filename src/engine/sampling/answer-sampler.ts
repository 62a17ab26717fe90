/** The request's sampling in llama.cpp's terms, for one answer after the other on a slot's sampler. */
import type { LlamaGrammarEvaluationState, Token } from "node-llama-cpp";
import type { GenerationRequest, Sampling } from "../../core/ports/chat-engine.ts";
import type { SamplerConfig } from "../native/bindings.ts";
import { type NativeSampler, rawGrammarState } from "../native/sampler.ts";
import type { TokenBias } from "./logit-bias.ts";

/** One fewer than 32 bits hold: llama.cpp takes the last for "any seed". */
const seeds = 2 ** 32 - 1;

export interface AnswerSampling {
  request: Pick<GenerationRequest, "sampling" | "seed">;
  contextSize: number;
  bias: TokenBias | undefined;
}

/** The sampler of a slot, set up for one answer. */
export class AnswerSampler {
  readonly native: NativeSampler;
  readonly #options: AnswerSampling;
  readonly #seed: number;
  #grammar: LlamaGrammarEvaluationState | undefined;
  #begun = false;

  constructor(native: NativeSampler, options: AnswerSampling) {
    this.native = native;
    this.#options = options;
    const { seed } = options.request;
    this.#seed = seed === undefined ? randomSeed() : ((seed % seeds) + seeds) % seeds;
  }

  /**
   * Says which grammar holds the next token, after the tokens generated so far. llama.cpp itself
   * counts what it sampled, so that nothing is done while the grammar stays.
   */
  use(grammar: LlamaGrammarEvaluationState | undefined, generated: readonly Token[]): void {
    if (this.#begun && grammar === this.#grammar) return;
    // A seed that does not change would go on with the numbers of the answer before.
    if (!this.#begun) this.native.configure({ temperature: 1, seed: (this.#seed + 1) % seeds });
    this.#begun = true;
    this.#grammar = grammar;
    this.native.configure({
      ...toFilters(this.#options.request.sampling),
      ...toPenalties(this.#options.request.sampling, generated, this.#options.contextSize),
      seed: this.#seed,
      ...this.#options.bias,
      ...(grammar === undefined ? {} : { grammarEvaluationState: rawGrammarState(grammar) }),
    });
  }
}

/** What is off is left out: top_k over all tokens, for one, sorts the whole vocabulary. */
function toFilters({
  temperature,
  topK,
  topP,
  minP,
}: Sampling): Pick<SamplerConfig, "temperature" | "topK" | "topP" | "minP"> {
  return {
    temperature,
    ...(topK > 0 ? { topK } : {}),
    ...(topP < 1 ? { topP } : {}),
    ...(minP > 0 ? { minP } : {}),
  };
}

function toPenalties(
  { repeatPenalty, presencePenalty, frequencyPenalty }: Sampling,
  generated: readonly Token[],
  contextSize: number,
): Partial<SamplerConfig> {
  if (repeatPenalty === 1 && presencePenalty === 0 && frequencyPenalty === 0) return {};
  return {
    repeatPenalty,
    repeatPenaltyPresencePenalty: presencePenalty,
    repeatPenaltyFrequencyPenalty: frequencyPenalty,
    repeatPenaltyMaxTokens: contextSize,
    repeatPenaltyTokens: Uint32Array.from(generated),
  };
}

/** The library would take the time in seconds: two requests of one second would be twins. */
const randomSeed = (): number => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % seeds;
