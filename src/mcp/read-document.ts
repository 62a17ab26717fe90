/** The tool that reads a document around a passage. */
import { Type as T } from "@sinclair/typebox";
import { documentText } from "./document-text.ts";
import { defineTool } from "./tool.ts";

const most = 20;
const usual = { before: 1, after: 3 };

const closed = { additionalProperties: false } as const;

const neighbours = (side: string, usually: number) =>
  T.Optional(
    T.Integer({
      minimum: 0,
      maximum: most,
      default: usually,
      description: `How many passages ${side} it.`,
    }),
  );

export const readDocument = defineTool({
  name: "read_document",
  title: "Read a document",
  description:
    "Reads the passages of a document around a position, in their order: what stands before and after a passage that search_documents found. Without a position it reads from the beginning.",
  scope: "retrieve",
  input: T.Object(
    {
      collection: T.String({ minLength: 1, description: "Id or name of the collection." }),
      document_id: T.String({ minLength: 1, description: "The document's id." }),
      position: T.Optional(
        T.Integer({
          minimum: 0,
          maximum: 1_000_000_000,
          default: 0,
          description: "The passage that is in the middle.",
        }),
      ),
      before: neighbours("before", usual.before),
      after: neighbours("after", usual.after),
    },
    closed,
  ),
  output: T.Object({
    document: T.String({ description: "The document's name." }),
    document_id: T.String(),
    collection: T.String({ description: "Id of the collection." }),
    total_passages: T.Integer(),
    passages: T.Array(T.Object({ position: T.Integer(), heading: T.String(), text: T.String() })),
    truncated: T.Boolean({ description: "Whether passages were left out for their length." }),
  }),
  async call({ collection, document_id: id, position = 0, ...rest }, work) {
    const { before = usual.before, after = usual.after } = rest;
    const from = Math.max(0, position - before);
    const place = { collection, document: id, field: "collection" };
    const read = await documentText(place, { from, limit: position + after - from + 1 }, work);
    return {
      document: read.name,
      document_id: read.id,
      collection: read.collection,
      total_passages: read.total,
      passages: read.passages,
      truncated: read.isCut,
    };
  },
});
