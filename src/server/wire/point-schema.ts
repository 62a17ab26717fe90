/** Where a passage comes from, on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { FoundPassage } from "../../core/retrieval/search.ts";

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
