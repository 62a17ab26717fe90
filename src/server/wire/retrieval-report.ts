/** What an answer is grounded in, as answers report it. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { FoundPassage } from "../../core/retrieval/search.ts";

/** Where a passage comes from. */
export const PointMetadata = T.Object({
  id: T.String(),
  document: T.Union([T.String(), T.Null()], {
    description: "What it was taken from; null where the collection does not say.",
  }),
  heading: T.Union([T.String(), T.Null()], { description: "The headings above it." }),
  position: T.Integer({ minimum: 0, description: "Its place in the document, from 0." }),
  // Not there in what a page stored before there were any.
  file_id: T.Optional(
    T.Union([T.String(), T.Null()], { description: "The document as a file of its vector store." }),
  ),
  vector_store_id: T.Optional(
    T.Union([T.String(), T.Null()], {
      description: "The vector store, which is the collection, that it is in.",
    }),
  ),
});

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

export function toPointMetadata(passage: FoundPassage): Static<typeof PointMetadata> {
  const { id, document, heading, position, file, store } = passage;
  return {
    id,
    document: orNull(document),
    heading: orNull(heading),
    position,
    file_id: orNull(file),
    vector_store_id: orNull(store),
  };
}

const orNull = (text: string): string | null => (text === "" ? null : text);
