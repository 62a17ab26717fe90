/** Passages in requests of a size that a server takes well. */
import type { EmbeddedPassage } from "../../core/ports/passage-repository.ts";

const mostPassages = 256;
/** Qdrant refuses requests over 32 MB. */
const mostBytes = 4 << 20;
/** A vector's value in JSON: `-0.01234567890123456,` */
const bytesOfValue = 21;
/** A word of the passage in JSON, as sparse index and value. */
const bytesOfCharacter = 8;

export function* batchesOf(passages: readonly EmbeddedPassage[]): Generator<EmbeddedPassage[]> {
  let batch: EmbeddedPassage[] = [];
  let bytes = 0;
  for (const passage of passages) {
    const size = sizeOf(passage);
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

/** About as many bytes as its request has, rather more. */
const sizeOf = ({ vector, source }: EmbeddedPassage): number =>
  vector.length * bytesOfValue + source.length * bytesOfCharacter;
