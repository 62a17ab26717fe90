/** What a request leaves open, filled in from the model's own settings. */
import type { ModelSettings } from "../models/model.ts";
import type { GenerationSettings, Sampling } from "../ports/chat-engine.ts";

export function completeSampling(
  { temperature, topP, minP, ...penalties }: ModelSettings,
  said: Partial<Sampling>,
): Sampling {
  const { presencePenalty, frequencyPenalty, repeatPenalty } = penalties;
  return {
    temperature,
    topP,
    topK: 0,
    minP,
    presencePenalty,
    frequencyPenalty,
    repeatPenalty,
    ...said,
  };
}

/** With one seed every answer would be the same; each takes the next. */
export function withSeedOf<Request extends GenerationSettings>(
  request: Request,
  index: number,
): Request {
  return request.seed === undefined ? request : { ...request, seed: request.seed + index };
}
