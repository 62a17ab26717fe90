/** Moves passages into a collection in batches, embedding those that come without a vector of its model. */
import { checkInput, toUnitLength } from "../core/embedding.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import type { EmbeddedPassage, PassageRepository } from "../core/ports/passage-repository.ts";
import type { ArchivedPassage } from "./archive.ts";

const batchSize = 128;

export interface TransferOptions {
  repository: PassageRepository;
  /** Called with how many are stored, whenever more are. */
  onStored: (count: number) => void;
  /** Makes vectors; absent where every passage has one. */
  embed?: (passages: readonly ArchivedPassage[]) => Promise<EmbeddedPassage[]>;
}

/** Stores them all; returns how many. Storing them again changes nothing. */
export async function transfer(
  passages: AsyncIterable<ArchivedPassage>,
  { repository, onStored, embed = withVectors }: TransferOptions,
): Promise<number> {
  let stored = 0;
  let batch: ArchivedPassage[] = [];
  const flush = async (): Promise<void> => {
    await repository.upsert(await embed(batch));
    stored += batch.length;
    onStored(stored);
    batch = [];
  };
  for await (const passage of passages) {
    batch.push(passage);
    if (batch.length === batchSize) await flush();
  }
  if (batch.length > 0) await flush();
  return stored;
}

async function withVectors(passages: readonly ArchivedPassage[]): Promise<EmbeddedPassage[]> {
  return passages.flatMap(({ vector, ...passage }) =>
    vector === undefined ? [] : [{ ...passage, vector: ofUnitLength(vector) }],
  );
}

/** A vector of unit length stays what it is, to the bit. */
function ofUnitLength(vector: Float32Array): Float32Array {
  return Math.abs(Math.hypot(...vector) - 1) < 1e-4 ? vector : toUnitLength(vector);
}

/** Embeds passages, keeping the vectors they come with where those are the model's own. */
export function embedWith(
  engine: EmbeddingEngine,
  options: { documentPrefix: string; keepVectors: boolean; signal: AbortSignal },
): NonNullable<TransferOptions["embed"]> {
  const { documentPrefix, keepVectors, signal } = options;
  return async (passages) => {
    const kept = ({ vector }: ArchivedPassage): Float32Array | undefined =>
      keepVectors && vector?.length === engine.dimension ? ofUnitLength(vector) : undefined;
    const missing = passages.filter((passage) => kept(passage) === undefined);
    for (const { id, source } of missing) {
      checkInput(engine, source, `The passage ${id}`, documentPrefix);
    }
    const texts = missing.map(({ source }) => documentPrefix + source);
    const embeddings = await engine.embed(texts, { signal });
    const made = new Map(missing.map((passage, at) => [passage, embeddings[at]?.vector]));
    return passages.flatMap((passage) => {
      const vector = kept(passage) ?? made.get(passage);
      return vector === undefined ? [] : [{ ...passage, vector }];
    });
  };
}
