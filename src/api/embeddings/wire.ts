/** Embeddings between the wire and the domain. */
import type { EmbeddingService } from "../../core/embedding.ts";
import type { Embedding } from "../../core/ports/embedding-engine.ts";
import type { EmbeddingList, EmbeddingRequest } from "./schema.ts";

export function toEmbeddingInput({
  model,
  input,
}: EmbeddingRequest): Parameters<EmbeddingService["embed"]>[0] {
  return typeof input === "string"
    ? { model, texts: [input], fieldOf: () => "input" }
    : { model, texts: input };
}

export function toEmbeddingList(
  { encoding_format: format = "float" }: EmbeddingRequest,
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
