/** How tokens are drawn: the fields that chat and its neighbours share, and what they mean. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { Sampling } from "../../core/ports/chat-engine.ts";
import { nullable } from "./fields.ts";
import { withoutNulls } from "./without-nulls.ts";

/** A number whose default is the model's. */
const tunable = (minimum: number, maximum: number, fallback: number, description: string) =>
  nullable(
    T.Number({ minimum, maximum }),
    `${description} Where absent or null, the model's configured default, ${fallback} unless set.`,
    fallback,
  );

export const samplingFields = {
  temperature: tunable(0, 2, 1, "Higher is more random; 0 always takes the likeliest token."),
  top_p: tunable(0, 1, 1, "Only the likeliest tokens that make up this probability are drawn."),
  top_k: nullable(
    T.Integer({ minimum: 0 }),
    "Only so many of the likeliest tokens are drawn; 0: all. An extension.",
    0,
  ),
  min_p: nullable(
    T.Number({ minimum: 0, maximum: 1 }),
    "Only tokens at least this likely, against the likeliest, are drawn; 0: all. Default: the model's own, which node information names. An extension.",
  ),
  presence_penalty: tunable(-2, 2, 0, "Positive: tokens that appeared are less likely."),
  frequency_penalty: tunable(-2, 2, 0, "Positive: the more a token appeared, the less likely."),
  repeat_penalty: tunable(
    0.1,
    10,
    1,
    "Divides the logits of tokens that appeared; 1: off. An extension.",
  ),
  repeat_last_n: nullable(
    T.Integer({ minimum: -1 }),
    "How many of the answer's last tokens penalties and DRY look at; -1: all; 0: none. Default: the model's own. An extension.",
  ),
  dry_multiplier: nullable(
    T.Number({ minimum: 0, maximum: 5 }),
    "DRY: what a token loses that would go on with a repetition; 0: off. Not under a grammar, as for JSON. Default: the model's own, which node information names. An extension.",
  ),
  dry_base: nullable(
    T.Number({ minimum: 1, maximum: 4 }),
    "DRY: how much more it loses with each token of the repetition. Default: the model's own. An extension.",
  ),
  dry_allowed_length: nullable(
    T.Integer({ minimum: 0 }),
    "DRY: how many tokens may be repeated without a loss. Default: the model's own. An extension.",
  ),
};

const SamplingBody = T.Object(samplingFields);
type SamplingBody = Static<typeof SamplingBody>;

const samplingNames = {
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  minP: "min_p",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  repeatPenalty: "repeat_penalty",
  repeatLastN: "repeat_last_n",
  dryMultiplier: "dry_multiplier",
  dryBase: "dry_base",
  dryAllowedLength: "dry_allowed_length",
} as const satisfies Record<keyof Sampling, keyof typeof samplingFields>;

/** What a caller calls it. */
export const wireName = (name: keyof Sampling): string => samplingNames[name];

export function toSampling(body: SamplingBody): Partial<Sampling> {
  return withoutNulls({
    temperature: body.temperature,
    topP: body.top_p,
    topK: body.top_k,
    minP: body.min_p,
    presencePenalty: body.presence_penalty,
    frequencyPenalty: body.frequency_penalty,
    repeatPenalty: body.repeat_penalty,
    repeatLastN: body.repeat_last_n,
    dryMultiplier: body.dry_multiplier,
    dryBase: body.dry_base,
    dryAllowedLength: body.dry_allowed_length,
  });
}
