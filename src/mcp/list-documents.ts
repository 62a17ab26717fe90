/** The tool that lists the documents of a collection. */
import { Type as T } from "@sinclair/typebox";
import { given } from "../core/given.ts";
import { redactPaths } from "../server/middleware/errors.ts";
import { Attributes } from "../server/wire/attributes.ts";
import { pageInput } from "./page-input.ts";
import { toUri } from "./resource-uri.ts";
import { defineTool } from "./tool.ts";

const limits = { usual: 50, most: 100 };

export const listDocuments = defineTool({
  name: "list_documents",
  title: "List documents",
  description:
    "Lists the documents of a collection, with their attributes, which the `filters` of search_documents ask about.",
  scope: "documents",
  input: T.Object(
    {
      collection: T.String({ minLength: 1, description: "Id or name of the collection." }),
      ...pageInput(limits),
    },
    { additionalProperties: false },
  ),
  output: T.Object({
    collection: T.String({ description: "Id of the collection." }),
    documents: T.Array(
      T.Object({
        id: T.String({ description: "For read_document." }),
        name: T.String(),
        uri: T.String({ description: "The resource that it is." }),
        status: T.String({ description: "Only what is `completed` is found." }),
        reason: T.Optional(T.String({ description: "Why it failed, or what it waits for." })),
        passages: T.Integer(),
        attributes: Attributes,
      }),
    ),
    next_cursor: T.Optional(T.String({ description: "For the next page; absent on the last." })),
  }),
  async call({ collection, limit, cursor: after }, { caller, documents }) {
    const { storeAccess, storeFiles } = documents;
    const { id } = await storeAccess.find(caller, collection, "collection");
    const page = { limit: limit ?? limits.usual, order: "asc" as const, ...given({ after }) };
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
