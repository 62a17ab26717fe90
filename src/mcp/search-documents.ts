/** The tool that finds passages. */
import { Type as T } from "@sinclair/typebox";
import { checkInputs } from "../core/embedding/embedding-service.ts";
import { given } from "../core/given.ts";
import type { FoundPassage } from "../core/retrieval/search.ts";
import { Filter, StoreReferences, toFilter } from "../server/wire/attributes.ts";
import { withinBudget } from "./text-budget.ts";
import { defineTool } from "./tool.ts";

const limits = { usual: 8, most: 50 };

const closed = { additionalProperties: false } as const;

export const searchDocuments = defineTool({
  name: "search_documents",
  title: "Search documents",
  description:
    "Finds the passages of this node's documents that answer a question, best first. Each says where it is from: cite its `document` and `heading`. Pass `collection`, `document_id` and `position` to read_document to read what stands around it.",
  scope: "retrieve",
  input: T.Object(
    {
      query: T.String({
        minLength: 1,
        description: "The question, or what is looked for, in a sentence.",
      }),
      collections: T.Optional({
        ...StoreReferences,
        description:
          "Ids or names of collections, as list_collections shows them. Default: the node's own collection, or those that the key is bound to.",
      }),
      filters: T.Optional(Filter),
      limit: T.Optional(
        T.Integer({
          minimum: 1,
          maximum: limits.most,
          default: limits.usual,
          description: "Most passages.",
        }),
      ),
      min_score: T.Optional(
        T.Number({ minimum: 0, maximum: 1, default: 0, description: "Least score of a passage." }),
      ),
    },
    closed,
  ),
  output: T.Object({
    passages: T.Array(
      T.Object({
        text: T.String(),
        score: T.Number({ description: "How well it matches; 1 is best." }),
        document: T.String({ description: "The document's name." }),
        document_id: T.Optional(T.String({ description: "For read_document." })),
        collection: T.String({ description: "Id of the collection." }),
        heading: T.String({ description: "The headings above it, outermost first." }),
        position: T.Integer({ description: "Its place among the document's passages, from 0." }),
      }),
    ),
    truncated: T.Boolean({ description: "Whether passages were left out for their length." }),
    notice: T.Optional(T.String({ description: "Why not everything can be found yet." })),
  }),
  async call({ query, collections, filters, limit, min_score: least }, work) {
    const { caller, signal, report, documents } = work;
    const { retrieval } = documents;
    const scope = {
      caller,
      fieldOf: (index: number) => `collections[${index}]`,
      ...given({
        stores: collections,
        filter: filters === undefined ? undefined : toFilter(filters, "filters"),
      }),
    };
    await retrieval.check(scope);
    const prefix = retrieval.queryPrefix;
    await checkInputs(retrieval.model().engine, [query], {
      ...{ signal, prefix },
      fieldOf: () => "query",
    });
    const bounds = { limit: limit ?? limits.usual, scoreThreshold: least ?? 0 };
    const options = { signal, ...given({ report }) };
    const { points } = await retrieval.find(query, bounds, options, scope);
    const { items: passages, isCut: truncated } = withinBudget(points.map(toPassage));
    return { passages, truncated, ...given({ notice: retrieval.coming }) };
  },
});

const toPassage = ({ source, score, document, file, store, heading, position }: FoundPassage) => ({
  ...{ text: source, score, document, collection: store, heading, position },
  // A foreign collection may not say which document a passage is of.
  ...(file === "" ? {} : { document_id: file }),
});
