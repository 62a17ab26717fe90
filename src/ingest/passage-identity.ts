/** How a passage is named: by its document and what was embedded, so that storing twice stores once. */

/** `occurrence` counts from 0 and tells apart equal texts of one document. */
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

/** A digest of texts in order. Each is preceded by its length, so that two lists never give the same bytes. */
export function digest(...texts: readonly (string | Uint8Array)[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const text of texts) hash.update(`${text.length}:`).update(text);
  return hash.digest("hex").slice(0, 32);
}
