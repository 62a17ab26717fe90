/** Thousands of bad requests to the real program, made by chance from the schemas: each is answered as the API says. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Type as T, type TSchema } from "@sinclair/typebox";
import fc, { type Arbitrary } from "fast-check";
import { ChatCompletionRequest } from "../../src/server/operations/chat/schema.ts";
import { CompletionRequest } from "../../src/server/operations/completions/schema.ts";
import { EmbeddingRequest } from "../../src/server/operations/embeddings.ts";
import { ErrorBody } from "../../src/server/operations/messages/answer-schema.ts";
import { CountTokensRequest, MessageRequest } from "../../src/server/operations/messages/schema.ts";
import { OllamaEmbedRequest } from "../../src/server/operations/ollama/embed.ts";
import { OllamaShowRequest } from "../../src/server/operations/ollama/models.ts";
import {
  OllamaChatRequest,
  OllamaGenerateRequest,
} from "../../src/server/operations/ollama/schema.ts";
import { RerankRequest } from "../../src/server/operations/rerank.ts";
import {
  InputItem,
  ResponseRequest,
} from "../../src/server/operations/responses/request-schema.ts";
import { RetrieveRequest } from "../../src/server/operations/retrieve/schema.ts";
import { DetokenizeRequest, TokenizeRequest } from "../../src/server/operations/tokenize.ts";
import {
  FileBatchRequest,
  VectorStoreFileRequest,
  VectorStoreFileUpdate,
  VectorStoreRequest,
  VectorStoreSearchRequest,
  VectorStoreUpdate,
} from "../../src/server/operations/vector-stores/schema.ts";
import { decode, decodeError } from "../support/decode.ts";
import {
  broken,
  brokenBytes,
  contentTypes,
  fitting,
  Raw,
  toText,
} from "../support/hostile-requests.ts";
import { type ServingPaddock, servePaddock } from "../support/paddock-process.ts";
import { memoryOf } from "../support/process-tree.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyConfig, tinyRerankerSection } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

const key = "a-key-that-nobody-may-see";
/** Times as many: PADDOCK_TEST_RUNS=28 sends 100,000. */
const times = Number(process.env.PADDOCK_TEST_RUNS ?? 1);
/** Another run of chance: PADDOCK_TEST_SEED. */
const seed = Number(process.env.PADDOCK_TEST_SEED ?? 20261115);
/** What no answer takes: it would hang. */
const longestMs = 240_000;

const resources = new AsyncDisposableStack();
let node: ServingPaddock;
let memory: number;
const counts = new Map<number, number>();

beforeAll(async () => {
  const folder = resources.use(await tempDir());
  const models = await tinyConfig("ctx_size = 256\nn_predict = 2");
  await writeFile(join(folder.path, "paddock.toml"), `${models}${await tinyRerankerSection()}`);
  const env = { PADDOCK_API_KEYS: key, PADDOCK_LOG_LEVEL: "error" };
  node = resources.use(await servePaddock({ cwd: folder.path, env }));
  memory = await memoryOf(node.process.pid);
});
afterAll(async () => {
  const grown = (await memoryOf(node.process.pid)) - memory;
  await resources.disposeAsync();
  console.log(`The node's memory has grown by ${(grown / 1e6).toFixed(0)} MB.`);
  console.log(
    `Answers by status: ${[...counts].map(([status, count]) => `${status}: ${count}`).join(", ")}`,
  );
});

/** Where errors are Anthropic's. */
const messagePaths: readonly string[] = ["/v1/messages", "/v1/messages/count_tokens"];

interface Sent {
  path: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
}

async function send({ path, method = "POST", headers = {}, body }: Sent): Promise<void> {
  const request = {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body }),
  };
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("It hangs")), longestMs);
  try {
    const response = await Promise.race([fetch(`${node.origin}${path}`, request), late.promise]);
    counts.set(response.status, (counts.get(response.status) ?? 0) + 1);
    const text = await Promise.race([response.clone().text(), late.promise]);
    expect(text).not.toContain(key);
    if (response.ok || method === "HEAD") return;
    expect([400, 401, 403, 404, 405, 413, 415, 429, 500, 503]).toContain(response.status);
    if (messagePaths.includes(path)) {
      await decode(ErrorBody, response);
      expect(response.status).toBeLessThan(500);
      return;
    }
    if (path.startsWith("/api/")) {
      expect(await response.json()).toEqual({ error: expect.any(String) });
      expect(response.status).toBeLessThan(500);
      return;
    }
    const { code } = await decodeError(response);
    // The specification's own 500 is for a model that the node does not have.
    if (response.status === 500) expect(code).toBe("model_not_found");
    // As many vector stores as the node keeps.
    if (response.status === 429) expect(code).toBe("insufficient_quota");
    // As many responses as wait to be made in the background.
    if (response.status === 503)
      expect(["collection_mismatch", "queue_full"]).toContain(code ?? "");
  } finally {
    clearTimeout(timer);
  }
}

const options = (numRuns: number) => ({ numRuns: numRuns * times, seed, endOnFailure: true });

/** Bodies that fit, with a model of this node, so that more than the model's name is looked at. */
const bodies = (schema: TSchema, model: string): Arbitrary<unknown> =>
  fitting(schema).map((body) =>
    typeof body === "object" && body !== null && !(body instanceof Raw) ? { ...body, model } : body,
  );

const chat = bodies(ChatCompletionRequest, "tiny-chat");
const completions = bodies(CompletionRequest, "tiny-chat");
const tokenize = bodies(TokenizeRequest, "tiny-chat");
const detokenize = bodies(DetokenizeRequest, "tiny-chat");
const embeddings = bodies(EmbeddingRequest, "tiny-embedding");
const rerank = bodies(RerankRequest, "tiny-reranker");
const retrieve = bodies(RetrieveRequest, "tiny-embedding");
const messages = bodies(MessageRequest, "tiny-chat");
const counted = bodies(CountTokensRequest, "tiny-chat");
const ollamaChat = bodies(OllamaChatRequest, "tiny-chat:latest");
const ollamaGenerate = bodies(OllamaGenerateRequest, "tiny-chat");
const ollamaEmbed = bodies(OllamaEmbedRequest, "tiny-embedding");

/** With items of types that are known, so that more than the type is looked at. */
const itemTypes = ["message", "function_call", "function_call_output", "item_reference", "custom"];
const anItem = T.Object({
  ...InputItem.properties,
  type: T.Optional(T.Union(itemTypes.map((type) => T.Literal(type)))),
});
const responses = bodies(
  T.Object({
    ...ResponseRequest.properties,
    input: T.Union([T.String(), T.Array(anItem)]),
  }),
  "tiny-chat",
  // The disk takes its time for each that is kept.
).map((body) => (body instanceof Raw ? body : { store: false, ...Object(body) }));

const store = "/v1/vector_stores/vs_default";

describe("a hostile request", () => {
  test.each([
    ["/v1/vector_stores", fitting(VectorStoreRequest), 75],
    [store, fitting(VectorStoreUpdate), 50],
    [`${store}/files`, fitting(VectorStoreFileRequest), 50],
    [`${store}/files/file-nobody`, fitting(VectorStoreFileUpdate), 25],
    [`${store}/file_batches`, fitting(FileBatchRequest), 50],
    [`${store}/search`, fitting(VectorStoreSearchRequest), 50],
  ] as const)("about documents, to %s, breaks nothing", async (path, body, runs) => {
    await fc.assert(
      fc.asyncProperty(broken(body).map(toText), (text) => send({ path, body: text })),
      options(runs),
    );
  });

  test("that is a form, or says so, breaks nothing and leaves nothing", async () => {
    const parts = fc.constantFrom(
      "--b",
      "--b--",
      "\r\n",
      "\n",
      "\r\n\r\n",
      'Content-Disposition: form-data; name="file"; filename="a.md"',
      'Content-Disposition: form-data; name="purpose"',
      'Content-Disposition: form-data; name="file"; filename="../../x"',
      "Content-Disposition: form-data; name=; filename*=UTF-8''%ff",
      "Content-Type: text/plain; charset=utf-7",
      "Content-Transfer-Encoding: base64",
      "assistants",
      "\u0000",
      "x".repeat(9000),
    );
    const forms = fc.array(parts, { maxLength: 24 }).map((all) => all.join(""));
    await fc.assert(
      fc.asyncProperty(forms, (body) =>
        send({
          path: "/v1/files",
          body,
          headers: { "content-type": "multipart/form-data; boundary=b" },
        }),
      ),
      options(125),
    );
  });

  test.each([
    ["/v1/chat/completions", chat, 1500],
    ["/v1/responses", responses, 200],
    ["/v1/completions", completions, 75],
    ["/v1/tokenize", tokenize, 125],
    ["/v1/detokenize", detokenize, 75],
    ["/v1/embeddings", embeddings, 375],
    ["/v1/rerank", rerank, 125],
    ["/v2/rerank", rerank, 25],
    ["/v1/retrieve", retrieve, 375],
    ["/v1/messages", messages, 200],
    ["/v1/messages/count_tokens", counted, 50],
    ["/api/chat", ollamaChat, 100],
    ["/api/generate", ollamaGenerate, 50],
    ["/api/embed", ollamaEmbed, 25],
    ["/api/show", fitting(OllamaShowRequest), 25],
  ] as const)("to %s breaks nothing", async (path, body, runs) => {
    await fc.assert(
      fc.asyncProperty(broken(body).map(toText), (text) => send({ path, body: text })),
      options(runs),
    );
  });

  test("of bytes that are no JSON, of any content type, breaks nothing", async () => {
    const paths = fc.constantFrom(
      ...["/v1/chat/completions", "/v1/embeddings", "/v1/retrieve", "/v1/messages", "/api/chat"],
    );
    await fc.assert(
      fc.asyncProperty(paths, brokenBytes(chat.map(toText)), contentTypes, (path, body, type) =>
        send({ path, body, headers: { "content-type": type } }),
      ),
      options(375),
    );
  });

  test("to any path, with any method and any key, breaks nothing and shows no key", async () => {
    const paths = fc.oneof(
      fc.constantFrom("/v1/models", "/v1/models/tiny-chat", "/v1/info", "/health", "/ready", "/"),
      fc.constantFrom("/v1/chat/completions", "/v1/embeddings", "/v1/retrieve", ...messagePaths),
      fc.constantFrom("/api/tags", "/api/chat", "/api/pull", "/api/blobs/x", "/api/"),
      fc.constantFrom(
        "/v1/files",
        "/v1/files/x",
        "/v1/files/../x/content",
        store,
        `${store}/files`,
      ),
      fc.constantFrom("/v1/files?limit=x", "/v1/vector_stores?after=%00", `${store}/files?filter=`),
      fc.webPath(),
      fc
        .string({ unit: "binary", maxLength: 40 })
        .map((text) => `/${encodeURIComponent(text.toWellFormed())}`),
      fc.constantFrom(
        "/v1/../v1/models",
        "//",
        "/v1//models",
        "/%00",
        "/v1/models/%ff",
        "/v1/models/__proto__",
      ),
    );
    const methods = fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD");
    const keys = fc.oneof(
      fc.constantFrom("", "Bearer", "Basic eDp5", `Bearer ${key} ${key}`, `bearer ${key}`, key),
      fc.string({ unit: "grapheme-ascii" }).map((text) => `Bearer ${text.trim()}`),
    );
    await fc.assert(
      fc.asyncProperty(paths, methods, keys, async (path, method, authorization) => {
        const hasBody = method !== "GET" && method !== "HEAD";
        await send({
          path,
          method,
          headers: { authorization },
          ...(hasBody ? { body: "{}" } : {}),
        });
      }),
      options(250),
    );
  });

  test("leaves the node as it was", async () => {
    expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(
      4000 * times,
    );
    expect((await fetch(`${node.origin}/ready`)).status).toBe(200);
    const body = { model: "tiny-chat", max_tokens: 2, messages: [{ role: "user", content: "hi" }] };
    const response = await fetch(`${node.origin}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    // What is not leaked is given back by the collector in time.
    await waitFor(
      "the memory to be given back",
      async () => (await memoryOf(node.process.pid)) < memory + 300e6,
    );
  });
});
