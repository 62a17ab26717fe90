/** Collections and passages as Qdrant has them, Paddock's own and those of other programs. */
import type { Schemas } from "@qdrant/js-client-rest";
import { dot } from "../../core/embedding/embedding-service.ts";
import { NodeError } from "../../core/errors.ts";
import type {
  CollectionSpec,
  EmbeddedPassage,
  EmbeddingIdentity,
  Passage,
} from "../../core/ports/passage-repository.ts";
import { wordForm, wordsOf } from "../split-words.ts";

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
    const why = `The collection '${name}' cannot be searched: it has ${others.length === 0 ? "no dense vector" : "several dense vectors"} for each point, and one is needed. Use another collection.`;
    throw new NodeError("unavailable", why);
  }
  const isSound =
    Number.isSafeInteger(found.size) && found.size >= 1 && found.size <= mostDimensions;
  if (!isSound) throw new Error(`it says that '${name}' has vectors of ${found.size} numbers`);
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

/** Qdrant's own bound. */
const mostDimensions = 65_536;

function denseVectors(vectors: Schemas["VectorsConfig"] = {}) {
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

type PointId = Schemas["ExtendedPointId"];

interface Point {
  id: PointId;
  payload?: Record<string, unknown> | null;
  vector?: unknown;
}

/** The fields to read from a payload; a foreign one may hold much more. */
export const payloadFields = [
  "source",
  documentField,
  "heading",
  "position",
  "hash",
  "document_hash",
  "parts",
];

export function pointOf(
  passage: EmbeddedPassage,
  { dense, hasWords }: CollectionShape,
): Schemas["PointStruct"] {
  const { id, vector, documentHash, ...fields } = passage;
  return {
    id: pointId(id),
    vector: {
      [dense]: [...vector],
      ...(hasWords && { [wordsVector]: wordWeights(fields.source) }),
    },
    payload: { ...fields, document_hash: documentHash },
  };
}

/** Undefined for a point that holds no text. */
export function passageOf({ id, payload }: Point): Passage | undefined {
  const { source, document, heading, position, hash, document_hash, parts } = payload ?? {};
  if (typeof source !== "string") return undefined;
  return {
    id: String(id),
    source,
    document: textOr(document),
    heading: textOr(heading),
    position: countOr(position),
    hash: textOr(hash),
    documentHash: textOr(document_hash),
    parts: countOr(parts),
  };
}

export function vectorOf(
  { vector }: Point,
  { dense, dimension }: CollectionShape,
): Float32Array | undefined {
  const found =
    typeof vector === "object" && vector !== null && !Array.isArray(vector)
      ? Reflect.get(vector, dense)
      : vector;
  if (!Array.isArray(found) || found.length !== dimension) return undefined;
  return found.every((item) => typeof item === "number") ? Float32Array.from(found) : undefined;
}

/** Qdrant's ids are UUIDs or integers of up to 64 bits; foreign collections often use integers. */
export function pointId(id: string): PointId {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) return id;
  if (isInteger(id)) return Number.isSafeInteger(Number(id)) ? Number(id) : rawNumber(id);
  throw new NodeError("invalid_request", `A passage's id must be a UUID; '${id}' is none.`);
}

const isInteger = (id: string): boolean => /^\d{1,20}$/.test(id) && BigInt(id) < 1n << 64n;

/** In JSON as it is written: a number would be rounded. */
const rawNumber = (digits: string): number => Object(JSON).rawJSON(digits);

/** Whether a point comes after another in Qdrant's order: integers first, then UUIDs. */
export function isAfter(id: string, other: string): boolean {
  const [isNumber, isOtherNumber] = [isInteger(id), isInteger(other)];
  if (isNumber !== isOtherNumber) return isOtherNumber;
  return isNumber ? BigInt(id) > BigInt(other) : id.toLowerCase() > other.toLowerCase();
}

export const textOr = (value: unknown): string => (typeof value === "string" ? value : "");

/** A position or a count; 0 for any other value. */
export const countOr = (value: unknown): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;

/** A text as a sparse vector of its words, so that a server that weighs by rarity computes BM25 scores. */
export interface SparseWords {
  indices: number[];
  values: number[];
}

/** BM25's k1: how soon repetitions of a word stop counting. */
const saturation = 1.2;
/** BM25's b: how much less the words of a long passage count. */
const lengthShare = 0.75;
/** Words of an average passage: the collection's own is not known when one is stored, and a wrong guess scales all scores nearly alike. */
const averageLength = 150;
/** Each term is a search of its own; the start of a longer question is enough to know its topic. */
const mostTerms = 32;

/** Weights of a stored passage's words: BM25's term frequency part, without rarity. */
export function wordWeights(text: string): SparseWords {
  const words = wordsOf(text);
  const counts = new Map<number, number>();
  for (const word of words) {
    const index = indexOf(word);
    counts.set(index, (counts.get(index) ?? 0) + 1);
  }
  const norm = saturation * (1 - lengthShare + (lengthShare * words.length) / averageLength);
  return {
    indices: [...counts.keys()],
    values: [...counts.values()].map((count) => (count * (saturation + 1)) / (count + norm)),
  };
}

export const questionTerms = (text: string): number[] =>
  [...new Set(wordsOf(text).map(indexOf))].slice(0, mostTerms);

export const askFor = (terms: readonly number[]): SparseWords => ({
  indices: [...terms],
  values: terms.map(() => 1),
});

/** Collisions are rare among a collection's words, and do little harm. */
const indexOf = (word: string): number => Bun.hash.xxHash32(word);

const mostPassages = 256;
/** Qdrant refuses requests over 32 MB. */
const mostBytes = 4 << 20;
/** A vector's value in JSON: `-0.01234567890123456,` */
const bytesOfValue = 21;
/** A word of the passage in JSON, as sparse index and value. */
const bytesOfCharacter = 8;

/** Splits passages into requests of a size that a server handles well. */
export function* batchesOf(passages: readonly EmbeddedPassage[]): Generator<EmbeddedPassage[]> {
  let batch: EmbeddedPassage[] = [];
  let bytes = 0;
  for (const passage of passages) {
    // An estimate, rather too much.
    const size = passage.vector.length * bytesOfValue + passage.source.length * bytesOfCharacter;
    if (batch.length > 0 && (batch.length === mostPassages || bytes + size > mostBytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(passage);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** An ideal passage matches each word as well as the best one for it, and unknown words as the one that counts most. Never less than one rare word. */
export function fullScore(bestOfEachTerm: readonly number[], passages: number): number {
  const most = Math.max(0, ...bestOfEachTerm);
  const sum = bestOfEachTerm.reduce((total, best) => total + (best > 0 ? best : most), 0);
  return Math.max(sum, rarity(passages));
}

/** The server's weight of a word that only one passage has. */
const rarity = (passages: number): number => Math.log(1 + (passages - 0.5) / 1.5);

/** The share of the question's words that a passage has; BM25 scores alone only rank passages. */
export const shareOf = (score: number, full: number): number =>
  full > 0 ? Math.min(1, Math.max(0, score / full)) : 0;

export function cosine(a: Float32Array, b: Float32Array): number {
  const lengths = Math.sqrt(dot(a, a) * dot(b, b));
  return lengths === 0 ? 0 : dot(a, b) / lengths;
}
