/** How files are cut, on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";
import { type Chunking, chunkBounds } from "../../core/documents/records.ts";
import { open } from "./fields.ts";

export const ChunkingStrategy = T.Union(
  [
    T.Object({ type: T.Literal("auto") }, open),
    T.Object(
      {
        type: T.Literal("static"),
        static: T.Object(
          {
            max_chunk_size_tokens: T.Integer({
              minimum: chunkBounds.least,
              maximum: chunkBounds.most,
              description: "Most tokens of a passage, and no more than the embedding model takes.",
            }),
            chunk_overlap_tokens: T.Integer({
              minimum: 0,
              description: "Tokens that two passages share; at most half of a passage.",
            }),
          },
          { ...open, description: "How long passages are." },
        ),
      },
      open,
    ),
  ],
  {
    "x-expected": '{ "type": "auto" }, or { "type": "static", "static": { … } }',
    description:
      "How files are cut. `auto`: as the node does, into passages of at most 256 tokens along headings and sentences.",
  },
);

/** Undefined: as the node does. */
export const toChunking = (
  strategy: Static<typeof ChunkingStrategy> | null | undefined,
): Chunking | undefined =>
  strategy?.type === "static"
    ? {
        maxTokens: strategy.static.max_chunk_size_tokens,
        overlapTokens: strategy.static.chunk_overlap_tokens,
      }
    : undefined;

export const ChunkingUsed = T.Union([
  T.Object({
    type: T.Literal("static"),
    static: T.Object({
      max_chunk_size_tokens: T.Integer(),
      chunk_overlap_tokens: T.Integer(),
    }),
  }),
  T.Object({ type: T.Literal("other") }),
]);

/** Of a document that did not come over HTTP it is not known. */
export function toChunkingUsed(chunking: Chunking | undefined): Static<typeof ChunkingUsed> {
  if (chunking === undefined) return { type: "other" };
  const { maxTokens, overlapTokens } = chunking;
  return {
    type: "static",
    static: { max_chunk_size_tokens: maxTokens, chunk_overlap_tokens: overlapTokens },
  };
}
