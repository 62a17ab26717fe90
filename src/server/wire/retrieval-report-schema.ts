/** What an answer is grounded in, as answers report it. */
import { type Static, Type as T } from "@sinclair/typebox";
import { PointMetadata } from "./point-schema.ts";

export const RetrievalReport = T.Object(
  {
    points: T.Array(
      T.Object({
        source: T.String({ description: "The passage's text." }),
        score: T.Number({ description: "Its similarity to the question, -1 to 1." }),
        metadata: PointMetadata,
      }),
      {
        description:
          "The passages in the prompt, in the order of their markers [1], [2], …: those of earlier turns, then this turn's in descending score.",
      },
    ),
    dropped: T.Integer({
      minimum: 0,
      description:
        "Passages that matched and are not in the prompt: another one contains them, or they do not fit the context.",
    }),
    carried: T.Optional(
      T.Integer({
        minimum: 1,
        description: "How many of them, from the first, are of earlier turns.",
      }),
    ),
    error: T.Optional(T.String({ description: "Why retrieval failed, where it did." })),
    notice: T.Optional(
      T.String({
        description:
          "What was done to the question: its end was matched where it is too long, or the user message before was taken along; and that passages are still being stored.",
      }),
    ),
  },
  { description: "What the answer is grounded in; absent where it is not." },
);

export type RetrievalReport = Static<typeof RetrievalReport>;
