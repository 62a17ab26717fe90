/**
 * Precomputed vectors of the handbook for the starter embedding model, from
 * `bun scripts/handbook-vectors.ts`: a first start embeds only what has changed since.
 */
import { createHash } from "node:crypto";
import { toUnitLength } from "../core/embedding/embedding-service.ts";
import { NodeError } from "../core/errors.ts";
import type { Embedding, EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import made from "./handbook-vectors.json";

export interface HandbookVectors {
  /** The fingerprint of the model's weights. */
  model: string;
  /** By a digest of the text; one byte per number, in base64. */
  vectors: Readonly<Record<string, string>>;
}

/** Wraps an engine to look up texts before computing them; returns it unchanged for another model. */
export function withHandbookVectors(
  engine: EmbeddingEngine,
  fingerprint: string,
  { model, vectors }: HandbookVectors = made,
): EmbeddingEngine {
  if (fingerprint !== model) return engine;
  return {
    dimension: engine.dimension,
    maxTokens: engine.maxTokens,
    vocabularySize: engine.vocabularySize,
    countTokens: (...asked) => engine.countTokens(...asked),
    async embed(inputs, options) {
      const known = inputs.map((input) =>
        typeof input === "string" ? vectors[keyOf(input)] : undefined,
      );
      const missing = inputs.filter((_, at) => known[at] === undefined);
      const computed = missing.length === 0 ? [] : await engine.embed(missing, options);
      let next = 0;
      return known.map((text): Embedding => {
        if (text !== undefined) return { vector: fromBytes(text), tokens: 0 };
        const embedding = computed[next++];
        if (embedding === undefined) throw new NodeError("internal", "A text was not embedded.");
        return embedding;
      });
    },
  };
}

export const keyOf = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 16);

/** The largest number becomes 127; a vector of unit length needs no scale. */
export function toBytes(vector: Float32Array): string {
  const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  const bytes = Int8Array.from(vector, (value) => Math.round((value / largest) * 127));
  return Buffer.from(bytes.buffer).toString("base64");
}

function fromBytes(text: string): Float32Array {
  const { buffer, byteOffset, length } = Buffer.from(text, "base64");
  return toUnitLength(Float32Array.from(new Int8Array(buffer, byteOffset, length)));
}
