/** When an answer ends and how it is drawn, but for sampling: the fields that OpenAI's APIs share, and what they mean. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { GenerationSettings } from "../../core/ports/chat-engine.ts";
import { nullable } from "./fields.ts";
import { withoutNulls } from "./without-nulls.ts";

/** `note`: what is said of each of them besides. */
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

/** For an API that does not have them itself. */
export const generationExtensions = fieldsWith(" An extension.");

const GenerationBody = T.Object(generationFields);
type GenerationBody = Static<typeof GenerationBody>;

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
