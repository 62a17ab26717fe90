/**
 * Validates the minimum that a chat needs of an answer: other servers of the OpenAI API send less
 * than a node does, send null for absent fields, and use other names. Only the command line imports
 * this: TypeBox's checks would add a third to the size of the page.
 */
import { type Static, Type as T, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** Returns the answer if it matches the schema, otherwise undefined. */
const reader =
  <Schema extends TSchema>(schema: Schema) =>
  (answer: unknown): Static<Schema> | undefined =>
    Value.Check(schema, answer) ? answer : undefined;

const text = T.Optional(T.Union([T.String(), T.Null()]));

/** Some servers send `reasoning` instead of `reasoning_content`. */
const Delta = T.Object({ content: text, reasoning_content: text, reasoning: text });

export type TolerantDelta = Static<typeof Delta>;

export const readChunk = reader(
  T.Object({
    choices: T.Array(T.Object({ delta: T.Optional(Delta), finish_reason: text })),
  }),
);

export const readCompletion = reader(
  T.Object({
    choices: T.Array(T.Object({ message: Delta, finish_reason: text }), { minItems: 1 }),
  }),
);

export const readModelList = reader(T.Object({ data: T.Array(T.Object({ id: T.String() })) }));

/** Accepts model types that this version does not know. */
export const readNodeInfo = reader(
  T.Object({ models: T.Array(T.Object({ name: T.String(), type: T.String() })) }),
);

export const readRetrieveResult = reader(
  T.Object({
    points: T.Array(
      T.Object({
        source: T.String(),
        score: T.Number(),
        metadata: T.Optional(T.Object({ document: text, heading: text })),
      }),
    ),
  }),
);
