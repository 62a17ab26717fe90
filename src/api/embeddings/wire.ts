/** Embeddings between the wire and the domain. */
import type { EmbeddingRequest as DomainRequest } from "../../core/embedding.ts";
import type { Embedding, EmbeddingInput } from "../../core/ports/embedding-engine.ts";
import type { EmbeddingList, EmbeddingRequest } from "./schema.ts";

export function toEmbeddingRequest({ model, input, dimensions }: EmbeddingRequest): DomainRequest {
  const single = toSingleInput(input);
  const inputs: readonly EmbeddingInput[] = single === undefined ? toInputs(input) : [single];
  return {
    model,
    inputs,
    ...(single === undefined ? {} : { fieldOf: () => "input" }),
    ...(typeof dimensions === "number" ? { dimensions } : {}),
  };
}

/** The one input, where it is not in a list of inputs. */
function toSingleInput(input: EmbeddingRequest["input"]): EmbeddingInput | undefined {
  if (typeof input === "string") return input;
  return isTokens(input) ? input : undefined;
}

const isTokens = (input: readonly unknown[]): input is number[] =>
  input.every((item) => typeof item === "number");

function toInputs(input: EmbeddingRequest["input"]): EmbeddingInput[] {
  return typeof input === "string"
    ? [input]
    : input.flatMap((item) => (typeof item === "number" ? [] : [item]));
}

export function toEmbeddingList(
  { encoding_format: format }: EmbeddingRequest,
  { model, embeddings }: { model: string; embeddings: readonly Embedding[] },
): EmbeddingList {
  const tokens = embeddings.reduce((sum, embedding) => sum + embedding.tokens, 0);
  return {
    object: "list",
    data: embeddings.map(({ vector }, index) => ({
      index,
      object: "embedding",
      embedding: format === "base64" ? toBase64(vector) : Array.from(vector),
    })),
    model,
    usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
  };
}

function toBase64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}
