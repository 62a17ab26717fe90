/** The API's wire types, from the server's schemas. Types only: pages bundle no server code. */
import type { ChatCompletionChunk } from "../server/operations/chat/schema.ts";
import type { NodeInfo } from "../server/operations/node/schema.ts";
import type { RetrieveResult } from "../server/operations/retrieve/schema.ts";

export type {
  ChatCompletionChunk,
  ChatCompletionRequest,
} from "../server/operations/chat/schema.ts";
export type { FileObject } from "../server/operations/files/schema.ts";
export type { Model, ModelList, PullEvent } from "../server/operations/models/schema.ts";
export type { NodeInfo, Readiness } from "../server/operations/node/schema.ts";
export type { RetrieveRequest, RetrieveResult } from "../server/operations/retrieve/schema.ts";
export type { VectorStore, VectorStoreFile } from "../server/operations/vector-stores/schema.ts";

export interface ListPage<Item> {
  data: Item[];
  has_more: boolean;
  last_id: string | null;
}

export interface PassagePage {
  data: { text: string }[];
  has_more: boolean;
}

export type ModelInfo = NodeInfo["models"][number];
/** A retrieved passage, with metadata if the request asked for it. */
export type Point = RetrieveResult["points"][number];
/** The passages of a grounded answer; a browser may have stored points without metadata. */
export type Retrieval = Omit<NonNullable<ChatCompletionChunk["retrieval"]>, "points"> & {
  points: Point[];
};
