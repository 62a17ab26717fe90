/** For each operation the largest bodies that a node with default limits takes, and those just beyond. */
import { chatBodies } from "./chat.ts";
import { completionBodies } from "./completions.ts";
import { embeddingBodies } from "./embeddings.ts";
import { mcpBodies } from "./mcp.ts";
import { messageBodies, promptBodies } from "./messages.ts";
import {
  ollamaChatBodies,
  ollamaEmbedBodies,
  ollamaGenerateBodies,
  ollamaShowBodies,
} from "./ollama.ts";
import { bytes, filled, text } from "./parts.ts";
import { rerankBodies } from "./rerank.ts";
import { conversationBodies, inputBodies, responseBodies } from "./responses.ts";
import { retrieveBodies } from "./retrieve.ts";
import { detokenizeBodies, tokenizeBodies } from "./tokenize.ts";
import { batchBodies, searchBodies, storeBodies, storeFileBodies } from "./vector-stores.ts";

export interface LargeBody {
  path: string;
  /** What it is made of. */
  what: string;
  body: () => string;
  /** Whether the model is at it for seconds, for an answer like another's here. */
  isLong: boolean;
}

const long: ReadonlySet<string> = new Set([
  "/v1/completions: a long text, scored",
  // tests/faults/bounds.test.ts waits for its answer.
  "/v1/completions: a long text, scored, with many answers",
  "/v1/completions: long texts, each scored",
  "/v1/completions: long texts, each scored, in a stream",
  "/v1/embeddings: short lists of token ids",
  "/v1/rerank: documents that are cut",
  "/v1/rerank: documents that are objects",
]);

const of = (path: string, bodies: Record<string, () => string>): LargeBody[] =>
  Object.entries(bodies).map(([what, body]) => {
    return { path, what, body, isLong: long.has(`${path}: ${what}`) };
  });

export const largestBodies: readonly LargeBody[] = [
  ...of("/v1/chat/completions", chatBodies),
  ...of("/v1/responses", responseBodies),
  ...of("/v1/responses/input_tokens", inputBodies),
  ...of("/v1/conversations", conversationBodies),
  ...of("/v1/conversations/conv_0/items", conversationBodies),
  ...of("/v1/conversations/conv_0", { metadata: conversationBodies.metadata ?? (() => "") }),
  ...of("/v1/messages", messageBodies),
  ...of("/v1/messages/count_tokens", promptBodies),
  ...of("/v1/completions", completionBodies),
  ...of("/v1/tokenize", tokenizeBodies),
  ...of("/v1/detokenize", detokenizeBodies),
  ...of("/v1/embeddings", embeddingBodies),
  ...of("/v1/rerank", rerankBodies),
  ...of("/v2/rerank", { documents: rerankBodies.documents ?? (() => "") }),
  ...of("/v1/retrieve", retrieveBodies),
  ...of("/v1/vector_stores", storeBodies),
  ...of("/v1/vector_stores/vs_default", { metadata: storeBodies.metadata ?? (() => "") }),
  ...of("/v1/vector_stores/vs_default/files", storeFileBodies),
  ...of("/v1/vector_stores/vs_default/file_batches", batchBodies),
  ...of("/v1/vector_stores/vs_default/search", searchBodies),
  ...of("/mcp", mcpBodies),
  ...of("/api/chat", ollamaChatBodies),
  ...of("/api/generate", ollamaGenerateBodies),
  ...of("/api/embed", ollamaEmbedBodies),
  ...of("/api/embeddings", {
    "one text": () => `{"model":"tiny-embedding","prompt":"${text(bytes)}"}`,
  }),
  ...of("/api/show", ollamaShowBodies),
  ...of("/api/pull", ollamaShowBodies),
  ...of("/v1/models/load", ollamaShowBodies),
  ...of("/v1/models/unload", {
    "a model's name": ollamaShowBodies["a model's name"] ?? (() => ""),
  }),
  ...of("/v1/models/pull", { "a source": () => `{"source":"hf:${text(bytes)}"}` }),
  // Operations that read no body.
  ...of("/v1/models", { "a list": () => `[${filled("1")}]` }),
  ...of("/v1/info", { "a list": () => `[${filled("1")}]` }),
];

/** Operations that read their bodies with the code of others. */
const sharing = new Set([
  "/v1/responses/input_tokens",
  "/v1/messages/count_tokens",
  "/v1/conversations/conv_0/items",
  "/v1/tokenize",
  "/v1/retrieve",
]);

/** All bodies of most operations; of those that share their code, kinds that no other takes, and one at least. */
export function eachKindOnce(bodies: readonly LargeBody[]): LargeBody[] {
  const [kinds, paths] = [new Set<string>(), new Set<string>()];
  return bodies.filter(({ path, what }) => {
    const isNew = !sharing.has(path) || !kinds.has(what) || !paths.has(path);
    kinds.add(what);
    paths.add(path);
    return isNew;
  });
}
