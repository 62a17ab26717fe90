/** From a document's text to stored passages: cut, embed, replace what was there. */
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import type { EmbeddedPassage, PassageRepository } from "../core/ports/passage-repository.ts";
import type { Progress } from "../core/progress.ts";
import { chunk } from "./chunk.ts";

export interface Document {
  /** What the document is called in the collection; ingesting the same name again replaces it. */
  name: string;
  text: string;
}

export interface IngestTarget {
  engine: EmbeddingEngine;
  repository: PassageRepository;
  progress: Progress;
  signal: AbortSignal;
}

/** Passages much longer than this blur what they are about. */
const bestPassageTokens = 256;
const batchSize = 32;

/** Stores the documents' passages; returns how many there are. */
export async function ingest(
  documents: readonly Document[],
  { engine, repository, progress, signal }: IngestTarget,
): Promise<number> {
  const maxTokens = Math.min(engine.maxTokens, bestPassageTokens);
  const countTokens = (text: string): number => engine.countTokens(text);
  const cut = documents.map(({ name, text }) => ({
    name,
    passages: chunk(text, { maxTokens, countTokens }),
  }));
  const total = cut.reduce((sum, { passages }) => sum + passages.length, 0);
  const step = progress.step("Storing passages", total, "passages");
  let done = 0;
  for (const { name, passages } of cut) {
    const embedded: EmbeddedPassage[] = [];
    for (let start = 0; start < passages.length; start += batchSize) {
      const batch = passages.slice(start, start + batchSize);
      const embeddings = await engine.embed(batch, { signal });
      embeddings.forEach(({ vector }, index) => {
        const source = batch[index] ?? "";
        embedded.push({ id: passageId(name, start + index), document: name, source, vector });
      });
      done += batch.length;
      step.update(done);
    }
    // In this order a crash between the two loses nothing; the next run removes what is left over.
    await repository.upsert(embedded);
    await repository.delete(name, new Set(embedded.map(({ id }) => id)));
  }
  step.finish(`${total} passages of ${documents.length} documents`);
  return total;
}

/** A UUID made from the document and the position, so that storing twice stores once. */
function passageId(document: string, position: number): string {
  const hex = new Bun.CryptoHasher("sha256").update(`${document}\n${position}`).digest("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}
