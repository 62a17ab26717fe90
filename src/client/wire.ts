/** As much of the OpenAI API as a chat needs; servers may send more, and some send less. */
import { Type as T } from "@sinclair/typebox";

const orNull = { text: T.Optional(T.Union([T.String(), T.Null()])) };

/** What is written, and what a model thought before it; servers call that by two names. */
const Said = T.Object({
  content: orNull.text,
  reasoning_content: orNull.text,
  reasoning: orNull.text,
});

export const Chunk = T.Object({
  choices: T.Array(T.Object({ delta: T.Optional(Said), finish_reason: orNull.text })),
});

export const Completion = T.Object({
  choices: T.Array(T.Object({ message: Said, finish_reason: orNull.text }), { minItems: 1 }),
});

export const Failure = T.Object({
  error: T.Union([T.String(), T.Object({ message: T.String() })]),
});

export const ModelNames = T.Object({ data: T.Array(T.Object({ id: T.String() })) });

/** What a node of Paddock tells beyond the OpenAI API. */
export const NodeModels = T.Object({
  models: T.Array(T.Object({ name: T.String(), type: T.String() })),
});

export const Points = T.Object({
  points: T.Array(
    T.Object({
      source: T.String(),
      score: T.Number(),
      metadata: T.Optional(T.Object({ document: orNull.text, heading: orNull.text })),
    }),
  ),
});
