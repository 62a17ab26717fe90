/** POST /v1/embeddings */
import { type Static, Type as T } from "@sinclair/typebox";
import {
  type EmbeddingRequest as DomainRequest,
  embedInputs,
} from "../../core/embedding/embedding-service.ts";
import type { ModelRegistry } from "../../core/models/model-registry.ts";
import type { Embedding } from "../../core/ports/embedding-engine.ts";
import { jsonWithList } from "../middleware/answer.ts";
import { specifiedErrors } from "../middleware/errors.ts";
import { specifiedModelErrors } from "../openapi.ts";
import { defineOperation, described, namedSchema } from "../operation.ts";
import * as f from "../wire/fields.ts";

const Tokens = T.Array(f.count(), { minItems: 1 });

export const EmbeddingRequest = f.openObject({
  model: f.modelName("an embedding model"),
  input: T.Union(
    [T.String(), T.Array(T.String(), { minItems: 1 }), Tokens, T.Array(Tokens, { minItems: 1 })],
    {
      "x-expected": "a string or a list of strings, or token ids in their place",
      description:
        "One text or several, or the token ids of one or several. None may be empty or longer than the model's context. At most `limits.max_inputs`, by default 2048.",
    },
  ),
  encoding_format: f.optional(
    T.Union([T.Literal("float"), T.Literal("base64"), T.Null()]),
    "`base64`: the vector's little-endian 32-bit floats.",
    "float",
  ),
  dimensions: f.nullable(
    f.integer(1),
    "Shorter vectors, scaled to unit length again. At most the model's own.",
  ),
  user: f.nullable(f.acceptedAs(T.String(), "The answer does not depend on the caller.")),
});

export type EmbeddingRequest = Static<typeof EmbeddingRequest>;

export const EmbeddingList = T.Object({
  object: T.Literal("list"),
  data: T.Array(
    T.Object({
      index: f.count(),
      object: T.Literal("embedding"),
      embedding: T.Union([T.Array(T.Number()), T.String()], {
        description: "Of unit length; a string with `base64`.",
      }),
    }),
  ),
  model: T.String(),
  usage: T.Object({
    prompt_tokens: f.count(),
    completion_tokens: T.Literal(0),
    total_tokens: f.count(),
  }),
});

export type EmbeddingList = Static<typeof EmbeddingList>;

export const embeddings = defineOperation({
  route: "POST /v1/embeddings",
  name: "embeddings",
  genAiName: "embeddings",
  operationId: "createEmbeddings",
  summary: "Embed texts",
  description: "Computes a vector of unit length for each text, in the same order.",
  tag: "Embeddings",
  scope: "embeddings",
  body: {
    ...namedSchema({ EmbeddingRequest }),
    example: { model: "all-MiniLM-L6-v2", input: ["Paris is the capital of France."] },
    // A list of numbers is one text.
    lists: [{ param: "input", limit: "maxInputs", isFor: (first) => typeof first !== "number" }],
    logged: ({ model, input }) => ({ model, input }),
  },
  answer: described({ EmbeddingList }, "The vectors.", {
    object: "list",
    data: [{ index: 0, object: "embedding", embedding: [0.0962, 0.0213, -0.0341] }],
    model: "all-MiniLM-L6-v2",
    usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 },
  }),
  errorFormat: specifiedErrors,
  errors: specifiedModelErrors,
  handler: async ({ body }, context, { models }: { models: ModelRegistry }) => {
    const hold = (bytes: number): void => context.held.add(bytes);
    const request = { ...toEmbeddingRequest(body), hold };
    const { model, embeddings } = await embedInputs(models, request, context.engineCall);
    context.loggedAnswer = () => ({
      vectors: embeddings.length,
      dimensions: embeddings[0]?.vector.length,
      tokens: totalTokens(embeddings),
    });
    return { text: toEmbeddingListJson(body, { model, embeddings }) };
  },
});

const toEmbeddingRequest = ({ model, input, dimensions }: EmbeddingRequest): DomainRequest => ({
  model,
  inputs: f.inputsOf(input),
  ...(f.isOneInput(input) ? { fieldOf: () => "input" } : {}),
  ...(typeof dimensions === "number" ? { dimensions } : {}),
});

export function toEmbeddingListJson(
  { encoding_format: format }: EmbeddingRequest,
  { model, embeddings }: { model: string; embeddings: readonly Embedding[] },
): ReturnType<typeof jsonWithList> {
  const data = embeddings.values().map(({ vector }, index) => {
    const embedding = format === "base64" ? toBase64(vector) : Array.from(vector);
    return { index, object: "embedding", embedding } satisfies EmbeddingList["data"][number];
  });
  const tokens = totalTokens(embeddings);
  const rest: Omit<EmbeddingList, "data"> = {
    object: "list",
    model,
    usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
  };
  return jsonWithList(rest, "data", data);
}

const totalTokens = (embeddings: readonly Embedding[]): number =>
  embeddings.reduce((sum, { tokens }) => sum + tokens, 0);

function toBase64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}
