/** Sampling and generation fields that the APIs share. */
import { type Static, Type as T, type TObject, type TProperties } from "@sinclair/typebox";
import type { GenerationSettings, Sampling } from "../../core/ports/chat-engine.ts";
import { count, nullable, withoutNulls } from "./fields.ts";

type StaticOf<Fields extends TProperties> = Static<TObject<Fields>>;

/** A number that defaults to the model's setting. */
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
    count(),
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
    count(),
    "DRY: how many tokens may be repeated without a loss. Default: the model's own. An extension.",
  ),
};

type SamplingBody = StaticOf<typeof samplingFields>;

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

export const wireName = (name: keyof Sampling): string => samplingNames[name];

export function toSampling(body: SamplingBody): Partial<Sampling> {
  const said = Object.entries(samplingNames).flatMap(([name, field]) => {
    const value = body[field];
    return typeof value === "number" ? [[name, value] as const] : [];
  });
  return Object.fromEntries(said);
}

/** OpenAI's generation fields except sampling. `note`: appended to each description. */
const fieldsWith = (note: string) => ({
  stop: nullable(
    T.Union([
      T.String({ minLength: 1 }),
      T.Array(T.String({ minLength: 1 }), { minItems: 1, maxItems: 4 }),
    ]),
    `One to four texts that end the answer; they are not part of it.${note}`,
  ),
  seed: nullable(
    T.Integer({
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
      "x-expected": "an integer of at most 53 bits",
    }),
    `The same request with the same seed and \`system_fingerprint\` gets the same answer, while nothing else runs.${note}`,
  ),
  logit_bias: nullable(
    T.Record(T.String({ pattern: "^[0-9]+$" }), T.Number({ minimum: -100, maximum: 100 }), {
      additionalProperties: false,
      "x-expected": "an object of token ids, each with a number from -100 to 100",
    }),
    `Added to the logits of tokens, by the model's own token ids.${note}`,
  ),
});

export const generationFields = fieldsWith("");

/** For an API whose specification lacks these fields. */
export const generationExtensions = fieldsWith(" An extension.");

type GenerationBody = StaticOf<typeof generationFields>;

export function toGenerationSettings({
  seed,
  stop,
  logit_bias: biases,
}: GenerationBody): Pick<GenerationSettings, "seed" | "stop" | "logitBias"> {
  return withoutNulls({
    seed,
    stop: typeof stop === "string" ? [stop] : stop,
    logitBias: biases && toLogitBias(biases),
  });
}

const toLogitBias = (biases: Readonly<Record<string, number>>): Map<number, number> =>
  new Map(Object.entries(biases).map(([id, bias]) => [Number(id), bias]));
