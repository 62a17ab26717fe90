/** Counts the documents and their passages from the payloads of the points. */
import type { StoredDocument } from "../../core/ports/passage-repository.ts";
import { countOr, textOr } from "./payload.ts";

interface Tally {
  passages: number;
  parts: number;
  hashes: Set<string>;
}

export class DocumentTally {
  readonly #tallies = new Map<string, Tally>();

  /** A passage that names no document belongs to none. */
  add({ document, document_hash, parts }: Record<string, unknown>): void {
    const name = textOr(document);
    if (name === "") return;
    const tally = this.#tallies.get(name) ?? { passages: 0, parts: 0, hashes: new Set() };
    this.#tallies.set(name, tally);
    tally.passages += 1;
    tally.parts = Math.max(tally.parts, countOr(parts));
    tally.hashes.add(textOr(document_hash));
  }

  documents(): StoredDocument[] {
    return [...this.#tallies]
      .map(([name, { passages, parts, hashes }]) => {
        const [hash = "", ...others] = hashes;
        const isKnown = hash !== "" && others.length === 0;
        return { name, ...(isKnown && { hash }), passages, parts };
      })
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
