/** POST /v1/embeddings */
import {
  type EmbeddingRequest as DomainRequest,
  embedInputs,
} from "../../../core/embedding/embedding-service.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import type { Embedding } from "../../../core/ports/embedding-engine.ts";
import { specifiedErrors } from "../../middleware/errors.ts";
import { specifiedModelErrors } from "../../openapi.ts";
import { type Answer, defineOperation, namedSchema, tags } from "../../operation.ts";
import { inputsOf, isOneInput } from "../../wire/fields.ts";
import { EmbeddingList, EmbeddingRequest } from "./schema.ts";

export const embeddings = defineOperation({
  method: "POST",
  path: "/v1/embeddings",
  name: "embeddings",
  genAiName: "embeddings",
  operationId: "createEmbeddings",
  summary: "Embed texts",
  description: "Computes a vector of unit length for each text, in their order.",
  tag: tags.embeddings,
  scope: "embeddings",
  body: {
    ...namedSchema({ EmbeddingRequest }),
    example: { model: "all-MiniLM-L6-v2", input: ["Paris is the capital of France."] },
    // A list of numbers is one text.
    lists: [{ param: "input", limit: "maxInputs", isFor: (first) => typeof first !== "number" }],
    logged: ({ model, input }) => ({ model, input }),
  },
  answer: {
    ...namedSchema({ EmbeddingList }),
    description: "The vectors.",
    example: {
      object: "list",
      data: [{ index: 0, object: "embedding", embedding: [0.0962, 0.0213, -0.0341] }],
      model: "all-MiniLM-L6-v2",
      usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 },
    },
  },
  errorFormat: specifiedErrors,
  errors: specifiedModelErrors,
  handler: async ({ body }, context, { models }: { models: ModelRegistry }): Promise<Answer> => {
    const { signal, report } = context;
    const { model, embeddings } = await embedInputs(models, toEmbeddingRequest(body), {
      signal,
      report,
    });
    context.loggedAnswer = () => ({
      vectors: embeddings.length,
      dimensions: embeddings[0]?.vector.length,
      tokens: totalTokens(embeddings),
    });
    const text = await toEmbeddingListJson(body, { model, embeddings });
    return { text, contentType: "application/json" };
  },
});

const toEmbeddingRequest = ({ model, input, dimensions }: EmbeddingRequest): DomainRequest => ({
  model,
  inputs: inputsOf(input),
  ...(isOneInput(input) ? { fieldOf: () => "input" } : {}),
  ...(typeof dimensions === "number" ? { dimensions } : {}),
});

/** Numbers serialized before other requests get a turn: a few milliseconds. */
const sliceNumbers = 32_768;

/** An `EmbeddingList` as JSON, in steps: serializing thousands of vectors at once takes seconds. */
export async function toEmbeddingListJson(
  { encoding_format: format }: EmbeddingRequest,
  { model, embeddings }: { model: string; embeddings: readonly Embedding[] },
): Promise<string> {
  const items: string[] = [];
  let numbers = 0;
  for (const [index, { vector }] of embeddings.entries()) {
    const embedding = format === "base64" ? toBase64(vector) : Array.from(vector);
    items.push(JSON.stringify({ index, object: "embedding", embedding } satisfies Item));
    numbers += vector.length;
    if (numbers < sliceNumbers) continue;
    numbers = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const tokens = totalTokens(embeddings);
  const usage = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens } as const;
  const rest = JSON.stringify({ model, usage } satisfies Omit<EmbeddingList, "object" | "data">);
  return `{"object":"list","data":[${items.join(",")}],${rest.slice(1)}`;
}

type Item = EmbeddingList["data"][number];

const totalTokens = (embeddings: readonly Embedding[]): number =>
  embeddings.reduce((sum, { tokens }) => sum + tokens, 0);

function toBase64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}
