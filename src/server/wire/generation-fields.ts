/** Sampling and generation fields that the APIs share. */
import {
  type Static,
  Type as T,
  type TObject,
  type TProperties,
  type TSchema,
} from "@sinclair/typebox";
import type { GenerationSettings, Sampling } from "../../core/ports/chat-engine.ts";
import * as f from "./fields.ts";

type StaticOf<Fields extends TProperties> = Static<TObject<Fields>>;

const ofModel = "Default: the model's own";

/** A number that defaults to the model's setting. */
const tunable = (minimum: number, maximum: number, fallback: number, description: string) =>
  f.nullable(
    f.number(minimum, maximum),
    `${description} ${ofModel}, usually ${fallback}.`,
    fallback,
  );

const extensionNote = " An extension.";

/** `tunable` for a field that the API's specification may lack. */
const extension = <Schema extends TSchema>(
  schema: Schema,
  description: string,
  note = extensionNote,
) => f.nullable(schema, `${description} ${ofModel}.${note}`);

/** `note`: appended to the description of a field that OpenAI's API lacks. */
const samplingWith = (note: string) => ({
  temperature: tunable(0, 2, 1, "Higher is more random; 0 always takes the likeliest token."),
  top_p: tunable(0, 1, 1, "Samples from the likeliest tokens that make up this probability."),
  top_k: f.nullable(f.count(), `Samples from this many likeliest tokens; 0: all.${note}`, 0),
  min_p: extension(
    f.number(0, 1),
    "Samples from tokens at least this likely, relative to the likeliest; 0: all.",
    note,
  ),
  presence_penalty: tunable(-2, 2, 0, "Positive: tokens that appeared are less likely."),
  frequency_penalty: tunable(-2, 2, 0, "Positive: the more a token appeared, the less likely."),
  repeat_penalty: tunable(0.1, 10, 1, `Divides the logits of repeats; 1: off.${note}`),
  repeat_last_n: extension(
    f.integer(-1),
    "How many of the answer's last tokens penalties and DRY look at; -1: all; 0: none.",
    note,
  ),
  dry_multiplier: extension(
    f.number(0, 5),
    "DRY: the penalty of a token that continues a repetition; 0: off. Not under a grammar.",
  ),
  dry_base: extension(f.number(1, 4), "DRY: how the penalty grows with each repeated token."),
  dry_allowed_length: extension(f.count(), "DRY: how many tokens may repeat without a penalty."),
});

export const samplingFields = samplingWith(extensionNote);

/** The same as `options` of Ollama's API, which has most of them. */
export const samplingOptions = samplingWith("");

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

export const Seed = T.Integer({
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  "x-expected": "an integer of at most 53 bits",
});

/** OpenAI's generation fields except sampling. `note`: appended to each description. */
const fieldsWith = (note: string) => ({
  stop: f.nullable(
    T.Union([f.nonEmpty, T.Array(f.nonEmpty, { minItems: 1, maxItems: 4 })]),
    `One to four texts that end the answer and are not part of it.${note}`,
  ),
  seed: f.nullable(
    Seed,
    `The same request with the same seed and \`system_fingerprint\` gets the same answer, if nothing else runs.${note}`,
  ),
  logit_bias: f.nullable(
    T.Record(T.String({ pattern: "^[0-9]+$" }), f.number(-100, 100), {
      additionalProperties: false,
      "x-expected": "an object of token ids, each with a number from -100 to 100",
    }),
    `Added to the logits of tokens, by the model's own token ids.${note}`,
  ),
});

export const generationFields = fieldsWith("");

export const generationExtensions = fieldsWith(extensionNote);

type GenerationBody = StaticOf<typeof generationFields>;

export function toGenerationSettings({
  seed,
  stop,
  logit_bias: biases,
}: GenerationBody): Pick<GenerationSettings, "seed" | "stop" | "logitBias"> {
  return f.withoutNulls({
    seed,
    stop: typeof stop === "string" ? [stop] : stop,
    logitBias: biases && new Map(Object.entries(biases).map(([id, bias]) => [Number(id), bias])),
  });
}

const cachesItself = "The node caches prompts by itself.";

/** Fields of OpenAI's API that do not change the answer. */
export const acceptedFields = {
  user: f.accepted("The answer does not depend on the caller."),
  safety_identifier: f.accepted("The answer does not depend on the caller."),
  service_tier: f.accepted("There is one tier."),
  prompt_cache_key: f.accepted(cachesItself),
  prompt_cache_options: f.accepted(cachesItself),
  prompt_cache_retention: f.accepted(cachesItself),
};

export const noEffort = "A model decides by itself how long it thinks.";
export const parallelCalls =
  "Whether one answer may call several tools, if the model's template can.";
export const formatFields = {
  name: f.optional(T.String(), "The format's name."),
  description: f.nullable(T.String(), "What the format is for."),
  schema: T.Unknown({ description: "JSON Schema of the answer." }),
  strict: f.flag("The answer always follows the schema."),
};
