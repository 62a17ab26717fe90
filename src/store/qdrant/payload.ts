/** Passages as points of Qdrant, and points as passages, of foreign collections too. */
import type { Schemas } from "@qdrant/js-client-rest";
import { NodeError } from "../../core/errors.ts";
import type { EmbeddedPassage, Passage } from "../../core/ports/passage-repository.ts";
import { type CollectionShape, documentField, wordsVector } from "./collection-shape.ts";
import { wordWeights } from "./sparse-words.ts";

type PointId = Schemas["ExtendedPointId"];

interface Point {
  id: PointId;
  payload?: Record<string, unknown> | null;
  vector?: unknown;
}

/** What is asked for of a payload; a foreign one may hold much more. */
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

/** The point's dense vector; undefined where it has none. */
export function vectorOf({ vector }: Point, { dense }: CollectionShape): Float32Array | undefined {
  const found =
    typeof vector === "object" && vector !== null && !Array.isArray(vector)
      ? Reflect.get(vector, dense)
      : vector;
  return isNumbers(found) ? Float32Array.from(found) : undefined;
}

/** Qdrant knows UUIDs and whole numbers; the latter are what foreign collections often have. */
export function pointId(id: string): PointId {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) return id;
  const number = /^\d+$/.test(id) ? Number(id) : Number.NaN;
  if (Number.isSafeInteger(number)) return number;
  throw new NodeError("invalid_request", `A passage's id must be a UUID; '${id}' is none.`);
}

export const textOr = (value: unknown): string => (typeof value === "string" ? value : "");

/** A place or a number of passages; 0 for what is none. */
export const countOr = (value: unknown): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;

const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((item) => typeof item === "number");
