/** The passages nearest to a vector: every part names candidates, and the rows' own vectors decide between them. */
import type { Database } from "bun:sqlite";
import { dot } from "../../core/embedding/embedding-service.ts";
import type { SearchBounds } from "../../core/ports/passage-repository.ts";
import { rowsOf } from "../database.ts";
import { toVector } from "./collection-file.ts";
import type { DocumentChoice } from "./collection-search.ts";
import { type Part, quantize } from "./part.ts";

export interface Candidate {
  key: number;
  score: number;
}

/** Vectors that the graphs of a collection visit together, at least; the more, the better the recall. */
const effort = 512;
/** Parts of fewer passages are compared whole. */
const largePart = 16_384;

/** In descending score. A choice of documents does not reduce the number of results, if they have enough passages. */
export function nearestRows(
  database: Database,
  parts: readonly Part[],
  vector: Float32Array,
  { limit, scoreThreshold }: SearchBounds,
  choice?: DocumentChoice,
): Candidate[] {
  // More than needed: a byte a number only names candidates.
  const wanted = 16 + 3 * limit;
  const large = parts.filter(({ count }) => count >= largePart).length;
  const each = Math.max(wanted, Math.ceil(effort / Math.max(1, large)));
  const question = quantize(vector);
  const near = parts.flatMap((part) =>
    part
      .nearest(question, each, choice?.of(part) ?? part.live)
      .map(({ place, distance }) => ({ key: part.keys[place] ?? 0, distance })),
  );
  const keys = near
    .sort((one, other) => one.distance - other.distance)
    .slice(0, wanted)
    .map(({ key }) => key);
  return scoreRows(database, vector, keys)
    .filter(({ score }) => score >= scoreThreshold)
    .sort((one, other) => other.score - one.score || one.key - other.key)
    .slice(0, limit);
}

/** The cosine, since vectors have unit length; clamped against rounding. */
export function scoreRows(
  database: Database,
  vector: Float32Array,
  keys: readonly number[],
): Candidate[] {
  const sql = "select key, vector from passages where key in (select value from json_each(?))";
  const rows = rowsOf<{ key: number; vector: Uint8Array }>(database, sql, JSON.stringify(keys));
  return rows.map(({ key, vector: bytes }) => ({
    key,
    score: Math.min(1, Math.max(-1, dot(vector, toVector(bytes)))),
  }));
}
