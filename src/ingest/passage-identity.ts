/** How a passage is named: by its document and what was embedded, so that storing twice stores once. */

/** The same text in the same document twice is told apart by `occurrence`, from 0. */
export function passageId(document: string, hash: string, occurrence: number): string {
  const hex = digest(document, hash, String(occurrence));
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}

/** A digest of texts in order; what separates them cannot be mistaken for a part of them. */
export function digest(...texts: readonly (string | Uint8Array)[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const text of texts) hash.update(`${text.length}:`).update(text);
  return hash.digest("hex").slice(0, 32);
}
