/** Where a passage comes from, on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { ScoredPassage } from "../../core/ports/passage-repository.ts";

export const PointMetadata = T.Object({
  id: T.String(),
  document: T.Union([T.String(), T.Null()], {
    description: "What it was taken from; null where the collection does not say.",
  }),
  heading: T.Union([T.String(), T.Null()], { description: "The headings above it." }),
  position: T.Integer({ minimum: 0, description: "Its place in the document, from 0." }),
});

export function toPointMetadata(passage: ScoredPassage): Static<typeof PointMetadata> {
  const { id, document, heading, position } = passage;
  return { id, document: orNull(document), heading: orNull(heading), position };
}

const orNull = (text: string): string | null => (text === "" ? null : text);
