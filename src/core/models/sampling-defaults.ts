/** How tokens are drawn where neither the request nor the configuration says so. */
import type { Sampling } from "../ports/chat-engine.ts";

/** What a model's family and size decide; the rest has the OpenAI API's defaults. */
type ModelDefaults = Pick<
  Sampling,
  "minP" | "repeatPenalty" | "repeatLastN" | "dryMultiplier" | "dryBase" | "dryAllowedLength"
>;

/** As llama-server has it, but for the window: penalties look at the whole answer. */
export const samplingDefaults: ModelDefaults = {
  minP: 0.05,
  repeatPenalty: 1,
  repeatLastN: -1,
  dryMultiplier: 0,
  dryBase: 1.75,
  dryAllowedLength: 2,
};

/**
 * The starter chat model has weights of 2 bits. Its tail of unlikely tokens is mostly nonsense, and
 * without the tail it repeats whole sentences, which DRY prevents; see bench/README.md.
 */
export const starterSampling: ModelDefaults = {
  ...samplingDefaults,
  minP: 0.6,
  dryMultiplier: 0.8,
};

/** A server's own tail is left alone. */
export const upstreamSampling: ModelDefaults = { ...samplingDefaults, minP: 0 };
