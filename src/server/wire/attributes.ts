/** Attributes of files and metadata of vector stores on the wire. */
import { Type as T } from "@sinclair/typebox";
import { NodeError } from "../../core/errors.ts";
import { quoted } from "../../core/quoted.ts";

const most = { pairs: 16, key: 64, value: 512 };

export const Metadata = T.Record(T.String(), T.String({ maxLength: most.value }), {
  maxProperties: most.pairs,
  description: `At most ${most.pairs} pairs of a name, of at most ${most.key} characters, and a text, of at most ${most.value}.`,
});

export const Attributes = T.Record(
  T.String(),
  T.Union([T.String({ maxLength: most.value }), T.Number(), T.Boolean()], {
    "x-expected": `a text of at most ${most.value} characters, a number, or true or false`,
  }),
  {
    maxProperties: most.pairs,
    description: `What filters ask about: at most ${most.pairs} pairs of a name, of at most ${most.key} characters, and a text, of at most ${most.value}, a number, or true or false.`,
  },
);

/** The pairs, none of whose names is too long. */
export function checkedPairs<Pairs extends Readonly<Record<string, unknown>>>(
  pairs: Pairs,
  field: string,
): Pairs {
  const name = Object.keys(pairs).find((key) => key === "" || key.length > most.key);
  if (name === undefined) return pairs;
  throw new NodeError(
    "invalid_request",
    `'${field}' has a name of ${name.length} characters, ${quoted(name)}; it may have 1 to ${most.key}.`,
    { param: field },
  );
}
