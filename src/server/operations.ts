/** The one list of operations: what is in it is served, described, measured and limited. */

import { given } from "../core/given.ts";
import { absentApi } from "./absent-apis.ts";
import { isAddressOf } from "./allowed-methods.ts";
import { docsPath, documentPath } from "./docs.ts";
import type { Operation } from "./operation.ts";
import { chat } from "./operations/chat/operation.ts";
import { completions } from "./operations/completions/operation.ts";
import {
  addConversationItems,
  createConversation,
  deleteConversation,
  deleteConversationItem,
  getConversation,
  getConversationItem,
  listConversationItems,
  updateConversation,
} from "./operations/conversations/operation.ts";
import { embeddings } from "./operations/embeddings/operation.ts";
import {
  deleteFile,
  getFile,
  getFileContent,
  listFiles,
  uploadFile,
} from "./operations/files/operation.ts";
import { health, ready } from "./operations/health/operation.ts";
import { describeNode, getInfo } from "./operations/info/operation.ts";
import { mcp } from "./operations/mcp/operation.ts";
import { countTokens, createMessage } from "./operations/messages/operation.ts";
import { metrics } from "./operations/metrics/operation.ts";
import { getModel, getModels, listModels } from "./operations/models/operation.ts";
import { rerank, rerankAtCohere } from "./operations/rerank/operation.ts";
import { countInputTokens } from "./operations/responses/count-input.ts";
import { responses } from "./operations/responses/operation.ts";
import { retrieve } from "./operations/retrieve/operation.ts";
import {
  cancelResponse,
  deleteResponse,
  getResponse,
  listInputItems,
} from "./operations/stored-responses/operation.ts";
import { detokenize, tokenize } from "./operations/tokenize/operation.ts";
import {
  cancelFileBatch,
  createFileBatch,
  getFileBatch,
  listFileBatchFiles,
} from "./operations/vector-store-batches/operation.ts";
import {
  addVectorStoreFile,
  getVectorStoreFile,
  getVectorStoreFileContent,
  listVectorStoreFiles,
  removeVectorStoreFile,
  updateVectorStoreFile,
} from "./operations/vector-store-files/operation.ts";
import { searchVectorStore } from "./operations/vector-store-search/operation.ts";
import {
  createVectorStore,
  deleteVectorStore,
  getVectorStore,
  listVectorStores,
  updateVectorStore,
} from "./operations/vector-stores/operation.ts";
import { pagePath } from "./page.ts";
import { pageFolder } from "./page-files.ts";
import type { Target } from "./pipeline.ts";

const all = [
  chat,
  completions,
  responses,
  countInputTokens,
  getResponse,
  deleteResponse,
  listInputItems,
  cancelResponse,
  createConversation,
  getConversation,
  updateConversation,
  deleteConversation,
  addConversationItems,
  listConversationItems,
  getConversationItem,
  deleteConversationItem,
  createMessage,
  countTokens,
  embeddings,
  rerank,
  rerankAtCohere,
  retrieve,
  tokenize,
  detokenize,
  listModels,
  getModels,
  getModel,
  uploadFile,
  listFiles,
  getFile,
  getFileContent,
  deleteFile,
  createVectorStore,
  listVectorStores,
  getVectorStore,
  updateVectorStore,
  deleteVectorStore,
  searchVectorStore,
  addVectorStoreFile,
  listVectorStoreFiles,
  getVectorStoreFile,
  updateVectorStoreFile,
  getVectorStoreFileContent,
  removeVectorStoreFile,
  createFileBatch,
  getFileBatch,
  cancelFileBatch,
  listFileBatchFiles,
  mcp,
  describeNode,
  getInfo,
  health,
  ready,
  metrics,
] as const;

/** What the handlers need, all of them together. */
export type OperationServices = UnionToIntersection<ServicesOf<(typeof all)[number]>>;

type ServicesOf<Declared> = Declared extends Operation<infer Services> ? Services : never;

type UnionToIntersection<Union> = (
  Union extends unknown
    ? (member: Union) => void
    : never
) extends (all: infer Intersection) => void
  ? Intersection
  : never;

export const operations: readonly Operation<OperationServices>[] = all;

/** What is served besides operations, by its addresses. */
const pages: Readonly<Record<string, readonly string[]>> = {
  page: [pagePath, pageFolder],
  docs: [docsPath, documentPath],
};

const names = [
  ...operations.map(({ facts }) => ({ path: facts.path, name: facts.name })),
  ...Object.entries(pages).flatMap(([name, paths]) => paths.map((path) => ({ path, name }))),
];

/** What an address belongs to, whatever the method: few enough that each can have numbers of its own. */
export function targetOf(pathname: string): Target {
  const exact = operations.find(({ facts }) => isAddressOf(facts.path, pathname));
  const known = names.find(
    ({ path }) => pathname === path || (path !== "/" && pathname.startsWith(`${path}/`)),
  );
  const errorFormat = exact?.facts.errorFormat ?? absentApi(pathname)?.errorFormat;
  const name = exact?.facts.name ?? known?.name ?? "other";
  return { name, operation: exact?.facts, ...given({ errorFormat }) };
}
