/** The list of all operations: each is served, documented, measured and rate limited. */
import { given } from "../core/given.ts";
import { absentApi, isAddressOf } from "./address.ts";
import { docsPath, documentPath } from "./docs.ts";
import type { Operation } from "./operation.ts";
import { chat } from "./operations/chat/operation.ts";
import { completions } from "./operations/completions/operation.ts";
import { conversationOperations } from "./operations/conversations.ts";
import { embeddings } from "./operations/embeddings.ts";
import { fileOperations } from "./operations/files/operation.ts";
import { mcp } from "./operations/mcp.ts";
import { messageOperations } from "./operations/messages/operation.ts";
import { modelOperations } from "./operations/models/operation.ts";
import { nodeOperations } from "./operations/node/operation.ts";
import { ollamaEmbedOperations } from "./operations/ollama/embed.ts";
import { ollamaLibraryOperations } from "./operations/ollama/library.ts";
import { ollamaModelOperations } from "./operations/ollama/models.ts";
import { ollamaChatOperations } from "./operations/ollama/operation.ts";
import { rerankOperations } from "./operations/rerank.ts";
import { responseOperations } from "./operations/responses/operation.ts";
import { retrieve } from "./operations/retrieve/operation.ts";
import { storedResponseOperations } from "./operations/stored-responses.ts";
import { tokenizeOperations } from "./operations/tokenize.ts";
import { vectorStoreFileOperations } from "./operations/vector-stores/files.ts";
import { vectorStoreOperations } from "./operations/vector-stores/stores.ts";
import { pagePath } from "./page.ts";
import { pageFolder } from "./page-files.ts";
import type { Target } from "./request-context.ts";

const all = [
  chat,
  completions,
  ...responseOperations,
  ...storedResponseOperations,
  ...conversationOperations,
  ...messageOperations,
  embeddings,
  ...rerankOperations,
  retrieve,
  ...tokenizeOperations,
  ...modelOperations,
  ...fileOperations,
  ...vectorStoreOperations,
  ...vectorStoreFileOperations,
  mcp,
  ...ollamaChatOperations,
  ...ollamaEmbedOperations,
  ...ollamaModelOperations,
  ...ollamaLibraryOperations,
  ...nodeOperations,
] as const;

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

/** Addresses that are served in addition to the operations, by name. */
export const pageAddresses = {
  page: [pagePath, pageFolder],
  docs: [docsPath, documentPath],
} as const satisfies Record<string, readonly string[]>;

const names = [
  ...operations.map(({ facts }) => ({ path: facts.path, name: facts.name })),
  ...Object.entries(pageAddresses).flatMap(([name, paths]) =>
    paths.map((path) => ({ path, name })),
  ),
];

/** For a request without a route: its name in metrics, and the error format of its API. */
export function targetOf(pathname: string): Target {
  const operation = operations.find(({ facts }) => isAddressOf(facts.path, pathname))?.facts;
  const near = names.find(
    ({ path }) => pathname === path || (path !== "/" && pathname.startsWith(`${path}/`)),
  );
  const errorFormat = absentApi(pathname)?.errorFormat;
  return { name: operation?.name ?? near?.name ?? "other", ...given({ operation, errorFormat }) };
}
