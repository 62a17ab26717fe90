/** The MCP tools: description, required scope, schemas and implementation of each. */
import { type Static, Type as T, type TObject } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { checkInputs } from "../core/embedding/embedding-service.ts";
import { given } from "../core/given.ts";
import type { Scope } from "../core/limits/api-key.ts";
import type { FoundPassage } from "../core/retrieval/search.ts";
import { redactPaths } from "../server/middleware/errors.ts";
import { invalid } from "../server/middleware/read-request.ts";
import type { McpSession } from "../server/operations/mcp.ts";
import { Filter, ShownAttributes, StoreReferences, toFilter } from "../server/wire/attributes.ts";
import { optional } from "../server/wire/fields.ts";
import { toPageRequest } from "../server/wire/page-schema.ts";
import { documentText, type McpDocuments, toUri, withinBudget } from "./resources.ts";

export type Work = Pick<McpSession, "caller" | "signal" | "report"> & { documents: McpDocuments };

/** Calls change nothing, give the same result when repeated, and stay within this node. */
const annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

function defineTool<Input extends TObject, Output extends TObject>({
  scope,
  input,
  output,
  call,
  ...text
}: {
  name: string;
  title: string;
  /** For the model that decides whether to call it. */
  description: string;
  /** The scope that the key needs in addition to `retrieve`. */
  scope: Scope;
  input: Input;
  output: Output;
  call: (wanted: Static<Input>, work: Work) => Promise<Static<Output>>;
}) {
  const checker = TypeCompiler.Compile(input);
  return {
    scope,
    /** As `tools/list` shows it. */
    shown: { ...text, inputSchema: input, outputSchema: output, annotations },
    call: async (wanted: unknown, work: Work): Promise<Record<string, unknown>> => {
      if (!checker.Check(wanted)) throw invalid(input, wanted);
      return { ...(await call(wanted, work)) };
    },
  };
}

const closed = { additionalProperties: false } as const;

const pageInput = ({ usual, most }: { usual: number; most: number }) => ({
  limit: optional(T.Integer({ minimum: 1, maximum: most }), "Most items.", usual),
  cursor: optional(T.String({ minLength: 1, maxLength: 256 }), "`next_cursor` of the page before."),
});

const pageOf = (
  limit: number | undefined,
  after: string | undefined,
  { usual }: { usual: number },
) => toPageRequest({ ...given({ limit, after }), order: "asc" }, usual);

const searchLimits = { usual: 8, most: 50 };

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
      limit: optional(
        T.Integer({ minimum: 1, maximum: searchLimits.most }),
        "Most passages.",
        searchLimits.usual,
      ),
      min_score: optional(T.Number({ minimum: 0, maximum: 1 }), "Least score of a passage.", 0),
    },
    closed,
  ),
  output: T.Object({
    passages: T.Array(
      T.Object({
        text: T.String(),
        score: T.Number({ description: "How well it matches; 1 is best." }),
        document: T.String({ description: "The document's name." }),
        document_id: optional(T.String(), "For read_document."),
        collection: T.String({ description: "Id of the collection." }),
        heading: T.String({ description: "The headings above it, outermost first." }),
        position: T.Integer({ description: "Its place among the document's passages, from 0." }),
      }),
    ),
    truncated: T.Boolean({ description: "Whether passages were left out for their length." }),
    notice: optional(T.String(), "Why not everything can be found yet."),
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
    const bounds = { limit: limit ?? searchLimits.usual, scoreThreshold: least ?? 0 };
    const options = { signal, ...given({ report }) };
    const { points } = await retrieval.find(query, bounds, options, scope);
    const { items: passages, isCut: truncated } = withinBudget(points.map(toPassage));
    return { passages, truncated, ...given({ notice: retrieval.coming.notice }) };
  },
});

const toPassage = ({ source, score, document, file, store, heading, position }: FoundPassage) => ({
  ...{ text: source, score, document, collection: store, heading, position },
  // A collection that another program built may not store the document of a passage.
  ...(file === "" ? {} : { document_id: file }),
});

const mostNeighbours = 20;
const usualNeighbours = { before: 1, after: 3 };

const neighbours = (side: string, usually: number) =>
  optional(
    T.Integer({ minimum: 0, maximum: mostNeighbours }),
    `How many passages ${side} it.`,
    usually,
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
      position: optional(
        T.Integer({ minimum: 0, maximum: 1_000_000_000 }),
        "The passage that is in the middle.",
        0,
      ),
      before: neighbours("before", usualNeighbours.before),
      after: neighbours("after", usualNeighbours.after),
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
    const { before = usualNeighbours.before, after = usualNeighbours.after } = rest;
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

const collectionLimits = { usual: 20, most: 50 };

export const listCollections = defineTool({
  name: "list_collections",
  title: "List collections",
  description:
    "Lists the collections of documents (vector stores) that can be searched, with how many documents each has.",
  scope: "documents",
  input: T.Object(pageInput(collectionLimits), closed),
  output: T.Object({
    collections: T.Array(
      T.Object({
        id: T.String(),
        name: T.String(),
        description: T.Optional(T.String()),
        documents: T.Integer({ description: "How many can be searched." }),
        coming: T.Integer({ description: "How many are still being ingested." }),
        searched_by_default: T.Boolean({
          description: "Whether search_documents searches it where no collection is named.",
        }),
      }),
    ),
    next_cursor: optional(T.String(), "For the next page; absent on the last."),
  }),
  async call({ limit, cursor: after }, { caller, documents }) {
    const { stores, storeAccess } = documents;
    const page = pageOf(limit, after, collectionLimits);
    const { items, hasMore } = await stores.list(caller, page);
    return {
      collections: items.map(({ store, counts, isExpired }) => ({
        id: store.id,
        name: store.name,
        ...given({ description: store.description }),
        documents: counts.completed,
        coming: counts.in_progress,
        searched_by_default:
          !isExpired && (caller.vectorStores !== undefined || storeAccess.isOwn(store)),
      })),
      ...given({ next_cursor: hasMore ? items.at(-1)?.store.id : undefined }),
    };
  },
});

const documentLimits = { usual: 50, most: 100 };

export const listDocuments = defineTool({
  name: "list_documents",
  title: "List documents",
  description:
    "Lists the documents of a collection, with their attributes, which the `filters` of search_documents ask about.",
  scope: "documents",
  input: T.Object(
    {
      collection: T.String({ minLength: 1, description: "Id or name of the collection." }),
      ...pageInput(documentLimits),
    },
    closed,
  ),
  output: T.Object({
    collection: T.String({ description: "Id of the collection." }),
    documents: T.Array(
      T.Object({
        id: T.String({ description: "For read_document." }),
        name: T.String(),
        uri: T.String({ description: "The resource that it is." }),
        status: T.String({ description: "Only what is `completed` is found." }),
        reason: optional(T.String(), "Why it failed, or what it waits for."),
        passages: T.Integer(),
        attributes: ShownAttributes,
      }),
    ),
    next_cursor: optional(T.String(), "For the next page; absent on the last."),
  }),
  async call({ collection, limit, cursor: after }, { caller, documents }) {
    const { storeAccess, storeFiles } = documents;
    const { id } = await storeAccess.find(caller, collection, "collection");
    const page = pageOf(limit, after, documentLimits);
    const { items, hasMore } = await storeFiles.list(caller, id, page);
    return {
      collection: id,
      documents: items.map((file) => ({
        id: file.file,
        name: file.filename,
        uri: toUri({ collection: id, document: file.file }),
        status: file.status,
        ...(file.failure === undefined ? {} : { reason: redactPaths(file.failure.message) }),
        passages: file.passages,
        attributes: { ...file.attributes },
      })),
      ...given({ next_cursor: hasMore ? items.at(-1)?.file : undefined }),
    };
  },
});
