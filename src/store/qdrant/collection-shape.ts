/** The vectors and indexes of a Qdrant collection, Paddock's own or another program's. */
import type { Schemas } from "@qdrant/js-client-rest";
import { NodeError } from "../../core/errors.ts";
import type { CollectionSpec, EmbeddingIdentity } from "../../core/ports/passage-repository.ts";
import { wordForm } from "../words.ts";

export interface CollectionShape {
  dimension: number;
  /** In lower case: `cosine`, `dot`, `euclid`, `manhattan`. */
  distance: string;
  /** The dense vector's name; empty for the unnamed one. */
  dense: string;
  /** Whether it has the sparse vectors of the full-text search. */
  hasWords: boolean;
  /** Whether they were made with the current version of the word splitter. */
  hasCurrentWords: boolean;
  /** Whether the document is indexed, so that its passages are found without a scan. */
  hasDocumentIndex: boolean;
  embedding: EmbeddingIdentity | undefined;
}

export const wordsVector = "words";
export const documentField = "document";

/** The definition of the node's own collections. */
export function definitionOf({
  dimension,
  embedding,
}: CollectionSpec): Schemas["CreateCollection"] {
  return {
    vectors: { size: dimension, distance: "Cosine" },
    sparse_vectors: { [wordsVector]: { modifier: "idf" } },
    metadata: {
      [wordsVector]: wordForm,
      embedding: {
        model: embedding.model,
        fingerprint: embedding.fingerprint,
        query_prefix: embedding.queryPrefix,
        document_prefix: embedding.documentPrefix,
      },
    },
  };
}

export function shapeOf(
  name: string,
  { config, payload_schema }: Schemas["CollectionInfo"],
): CollectionShape {
  const [found, ...others] = denseVectors(config.params.vectors);
  if (found === undefined || others.length > 0) {
    throw new NodeError(
      "unavailable",
      `The collection '${name}' cannot be searched: it has ${others.length === 0 ? "no dense vector" : "several dense vectors"} for each point, and one is needed. Use another collection.`,
    );
  }
  const hasWords = config.params.sparse_vectors?.[wordsVector] !== undefined;
  return {
    dimension: found.size,
    distance: found.distance.toLowerCase(),
    dense: found.name,
    hasWords,
    hasCurrentWords: hasWords && config.metadata?.[wordsVector] === wordForm,
    hasDocumentIndex: payload_schema[documentField] !== undefined,
    embedding: embeddingIn(config.metadata?.embedding),
  };
}

interface DenseVector {
  name: string;
  size: number;
  distance: string;
}

function denseVectors(vectors: Schemas["VectorsConfig"] = {}): DenseVector[] {
  if (isOne(vectors)) return [{ name: "", size: vectors.size, distance: vectors.distance }];
  return Object.entries(vectors).flatMap(([name, vector]) =>
    // A multivector cannot be compared with one vector of the node.
    vector === undefined || vector.multivector_config
      ? []
      : [{ name, size: vector.size, distance: vector.distance }],
  );
}

/** A named vector may be called `size`, but is not a number. */
const isOne = (vectors: Schemas["VectorsConfig"]): vectors is Schemas["VectorParams"] =>
  typeof vectors.size === "number";

function embeddingIn(stored: unknown): EmbeddingIdentity | undefined {
  if (typeof stored !== "object" || stored === null) return undefined;
  const { model, fingerprint, query_prefix, document_prefix }: Record<string, unknown> = {
    ...stored,
  };
  return typeof model === "string" &&
    typeof fingerprint === "string" &&
    typeof query_prefix === "string" &&
    typeof document_prefix === "string"
    ? { model, fingerprint, queryPrefix: query_prefix, documentPrefix: document_prefix }
    : undefined;
}
