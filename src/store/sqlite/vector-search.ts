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
  const question = quantize(vector);
  const near = parts.flatMap((part) =>
    part
      .nearest(question, wanted, choice?.of(part) ?? part.live)
      .map(({ place, ...how }) => ({ ...how, key: part.keys[place] ?? 0 })),
  );
  near.sort((one, other) => one.distance - other.distance);
  const keys = (["graph", "scan"] as const).flatMap((by) =>
    near
      .filter((one) => one.by === by)
      .slice(0, wanted)
      .map(({ key }) => key),
  );
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
