/** The tool that lists collections. */
import { Type as T } from "@sinclair/typebox";
import { given } from "../core/given.ts";
import { pageInput } from "./page-input.ts";
import { defineTool } from "./tool.ts";

const limits = { usual: 20, most: 50 };

export const listCollections = defineTool({
  name: "list_collections",
  title: "List collections",
  description:
    "Lists the collections of documents (vector stores) that can be searched, with how many documents each has.",
  scope: "documents",
  input: T.Object(pageInput(limits), { additionalProperties: false }),
  output: T.Object({
    collections: T.Array(
      T.Object({
        id: T.String(),
        name: T.String(),
        description: T.Optional(T.String()),
        documents: T.Integer({ description: "How many can be searched." }),
        coming: T.Integer({ description: "How many are still being taken in." }),
        searched_by_default: T.Boolean({
          description: "Whether search_documents searches it where no collection is named.",
        }),
      }),
    ),
    next_cursor: T.Optional(T.String({ description: "For the next page; absent on the last." })),
  }),
  async call({ limit, cursor: after }, { caller, documents }) {
    const { stores, storeAccess } = documents;
    const page = { limit: limit ?? limits.usual, order: "asc" as const, ...given({ after }) };
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
