/** Passages for tests of stores, numbered and of unit length. */
import type { EmbeddedPassage } from "../../src/core/ports/passage-repository.ts";

export function passage(
  at: number,
  vector: readonly number[],
  fields: Partial<EmbeddedPassage> = {},
): EmbeddedPassage {
  const length = Math.hypot(...vector);
  return {
    id: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
    source: `Passage ${at}`,
    document: "a.md",
    heading: "Heading",
    position: at,
    hash: `hash-${at}`,
    documentHash: "version-1",
    parts: 1,
    vector: Float32Array.from(vector, (value) => value / length),
    ...fields,
  };
}
