/** What a request leaves open, filled in from the model's own settings. */
import type { ModelSettings } from "../models/model.ts";
import type { GenerationSettings, Sampling } from "../ports/chat-engine.ts";

export function completeSampling(settings: ModelSettings, said: Partial<Sampling>): Sampling {
  return {
    temperature: settings.temperature,
    topP: settings.topP,
    topK: 0,
    minP: settings.minP,
    presencePenalty: settings.presencePenalty,
    frequencyPenalty: settings.frequencyPenalty,
    repeatPenalty: settings.repeatPenalty,
    repeatLastN: settings.repeatLastN,
    dryMultiplier: settings.dryMultiplier,
    dryBase: settings.dryBase,
    dryAllowedLength: settings.dryAllowedLength,
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
