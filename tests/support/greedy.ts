/** Sampling that always takes the likeliest token. */
import type { Sampling } from "../../src/core/ports/chat-engine.ts";

export const greedy: Sampling = {
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  presencePenalty: 0,
  frequencyPenalty: 0,
  repeatPenalty: 1,
  repeatLastN: -1,
  dryMultiplier: 0,
  dryBase: 1.75,
  dryAllowedLength: 2,
};
