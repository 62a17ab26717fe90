/** The request's sampling in node-llama-cpp's terms. */
import type {
  LlamaGrammarEvaluationState,
  SequenceEvaluateOptions,
  Token,
  TokenBias,
} from "node-llama-cpp";
import type { GenerationRequest } from "../core/ports/chat-engine.ts";

export interface SamplingContext {
  /** The tokens generated so far; penalties count them. */
  generated: readonly Token[];
  contextSize: number;
  bias: TokenBias | undefined;
  /** Asked at each token: which grammar holds it. */
  grammar?: () => LlamaGrammarEvaluationState | undefined;
}

/** One fewer than 32 bits hold: llama.cpp takes the last for "any seed". */
const seeds = 2 ** 32 - 1;

export function toEvaluateOptions(
  { sampling, seed }: Pick<GenerationRequest, "sampling" | "seed">,
  { generated, contextSize, bias, grammar }: SamplingContext,
): SequenceEvaluateOptions {
  const { temperature, topP, topK, minP } = sampling;
  const { repeatPenalty: penalty, presencePenalty, frequencyPenalty } = sampling;
  const penalises = penalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0;
  return {
    temperature,
    topP,
    topK,
    minP,
    // The library would take the time in seconds: two requests of one second would be twins.
    seed: seed === undefined ? randomSeed() : ((seed % seeds) + seeds) % seeds,
    ...(grammar === undefined ? {} : { grammarEvaluationState: grammar }),
    ...(bias === undefined ? {} : { tokenBias: bias }),
    ...(penalises
      ? {
          repeatPenalty: {
            punishTokens: () => [...generated],
            maxPunishTokens: contextSize,
            penalty,
            presencePenalty,
            frequencyPenalty,
          },
        }
      : {}),
  };
}

const randomSeed = (): number => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % seeds;
