/** Vectors as servers send them: lists of numbers, or their bytes in base64. */
import { countAt, listAt } from "./json-fields.ts";

/** One for each text, in their order; undefined where that is not what came. */
export function readVectors(answer: unknown, count: number): Float32Array[] | undefined {
  const data = listAt(answer, "data");
  if (data.length !== count) return undefined;
  const vectors = new Array<Float32Array | undefined>(count);
  for (const [at, entry] of data.entries()) {
    const index = countAt(entry, "index") ?? at;
    // An index beyond the texts would make a list of holes, each of which is walked.
    if (index >= count) return undefined;
    vectors[index] = readVector(entry);
  }
  const found = vectors.filter((vector) => vector !== undefined);
  const [first] = found;
  const isWhole = found.length === count;
  return isWhole && found.every(({ length }) => length === first?.length) ? found : undefined;
}

function readVector(entry: unknown): Float32Array | undefined {
  const sent =
    typeof entry === "object" && entry !== null && "embedding" in entry
      ? entry.embedding
      : undefined;
  const vector = typeof sent === "string" ? fromBase64(sent) : fromList(sent);
  const isSound = vector !== undefined && vector.length > 0 && vector.every(Number.isFinite);
  return isSound ? vector : undefined;
}

/** 32-bit numbers, the lowest byte first. */
function fromBase64(text: string): Float32Array | undefined {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length % 4 !== 0) return undefined;
  const vector = new Float32Array(bytes.length / 4);
  for (let at = 0; at < vector.length; at++) vector[at] = bytes.readFloatLE(at * 4);
  return vector;
}

const fromList = (list: unknown): Float32Array | undefined =>
  Array.isArray(list) && list.every((value) => typeof value === "number")
    ? Float32Array.from(list)
    : undefined;
