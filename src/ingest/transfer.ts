/** Moves passages into a collection in batches, embedding those that come without a vector of its model. */
import { toUnitLength } from "../core/embedding/embedding-service.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import type { EmbeddedPassage, PassageRepository } from "../core/ports/passage-repository.ts";
import type { ArchivedPassage } from "./archive.ts";
import { chunk } from "./chunk.ts";
import { digest, passageId, usualSizes } from "./passages.ts";

const batchSize = 128;

export interface TransferOptions {
  repository: PassageRepository;
  signal: AbortSignal;
  /** Called with how many are stored, whenever more are. */
  onStored: (count: number) => void;
  /** Makes vectors; absent where every passage has one. */
  embed?: (passages: readonly ArchivedPassage[]) => Promise<EmbeddedPassage[]>;
}

/** Stores them all; returns how many. Storing them again changes nothing. */
export async function transfer(
  passages: AsyncIterable<ArchivedPassage>,
  { repository, signal, onStored, embed = withVectors }: TransferOptions,
): Promise<number> {
  let stored = 0;
  let batch: ArchivedPassage[] = [];
  const flush = async (): Promise<void> => {
    signal.throwIfAborted();
    const embedded = await embed(batch);
    await repository.upsert(embedded);
    stored += embedded.length;
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

/** A vector of unit length is returned unchanged, to the bit. */
function ofUnitLength(vector: Float32Array): Float32Array {
  return Math.abs(Math.hypot(...vector) - 1) < 1e-4 ? vector : toUnitLength(vector);
}

export interface EmbedOptions {
  documentPrefix: string;
  /** Whether vectors that come along are the model's own. */
  keepVectors: boolean;
  signal: AbortSignal;
  /** Called with how many passages had to be cut, or left out since the model can read nothing in them. */
  onChange: (change: "cut" | "left out") => void;
}

/** Embeds passages; one that is too long for the model becomes several. */
export function embedWith(
  engine: EmbeddingEngine,
  { documentPrefix, keepVectors, signal, onChange }: EmbedOptions,
): NonNullable<TransferOptions["embed"]> {
  const ownVector = ({ vector }: ArchivedPassage): Float32Array | undefined =>
    keepVectors && vector?.length === engine.dimension ? ofUnitLength(vector) : undefined;
  const fitting = async (passage: ArchivedPassage): Promise<ArchivedPassage[]> => {
    if (ownVector(passage) !== undefined) return [passage];
    const [own = 0, tokens = 0] = await engine.countTokens([
      passage.source,
      documentPrefix + passage.source,
    ]);
    if (own === 0) {
      onChange("left out");
      return [];
    }
    if (tokens <= engine.maxTokens) return [passage];
    onChange("cut");
    const chunks = await chunk([passage.source], {
      ...usualSizes(engine),
      countTokens: (texts) => engine.countTokens(texts.map((text) => documentPrefix + text)),
    });
    return chunks.map(({ source }, at) => {
      const hash = digest(documentPrefix, source);
      return { ...passage, id: passageId(passage.id, hash, at), source, hash };
    });
  };
  return async (passages) => {
    const fit = (await Promise.all(passages.map(fitting))).flat();
    const missing = fit.filter((passage) => ownVector(passage) === undefined);
    const texts = missing.map(({ source }) => documentPrefix + source);
    const embeddings = await engine.embed(texts, { signal });
    const made = new Map(missing.map((passage, at) => [passage, embeddings[at]?.vector]));
    return fit.flatMap((passage) => {
      const vector = ownVector(passage) ?? made.get(passage);
      return vector === undefined ? [] : [{ ...passage, vector }];
    });
  };
}
