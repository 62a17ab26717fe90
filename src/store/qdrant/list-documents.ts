/** Lists the documents of a collection of a Qdrant server, from the payloads of its points. */
import type { Schemas } from "@qdrant/js-client-rest";
import { NodeError } from "../../core/errors.ts";
import type { StoredDocument } from "../../core/ports/passage-repository.ts";
import { bytesOfPoints } from "./api.ts";
import type { QdrantConnection } from "./connection.ts";
import { countOr, documentField, textOr } from "./points.ts";

const documentPage = 2000;
/** Of a document's name and digest. */
const documentBytes = 8 << 10;
/** What a list of documents can hold: their texts, and what each takes besides. */
const mostListed = 256 << 20;
const bytesOfDocument = 512;

/** Every document, by name. Points without a document are skipped. */
export async function listDocuments(
  connection: QdrantConnection,
  name: string,
): Promise<StoredDocument[]> {
  const with_payload = [documentField, "document_hash", "parts"];
  const mostBytes = bytesOfPoints(documentPage, { text: documentBytes });
  const tallies: Tallies = new Map();
  let listed = 0;
  for (let from: string | null = null; ; ) {
    const request = { with_payload, limit: documentPage };
    const page = await connection.page(name, request, { from, mostBytes });
    listed += tally(page.points, tallies);
    if (listed > mostListed) {
      const why = `Qdrant's list of the documents of '${name}' is larger than a node can hold.`;
      throw new NodeError("unavailable", why);
    }
    if (page.next === null) return documentsIn(tallies);
    from = page.next;
  }
}

/** Without `hash`: its passages have several. */
type Tallies = Map<string, { passages: number; parts: number; hash?: string }>;

/** Counts the passages of each document from the payloads of points; returns how much new ones take. */
function tally(points: readonly Schemas["Record"][], tallies: Tallies): number {
  let bytes = 0;
  for (const { payload } of points) {
    const name = textOr(payload?.document);
    if (name === "") continue;
    const hash = textOr(payload?.document_hash);
    let known = tallies.get(name);
    if (known === undefined) {
      known = { passages: 0, parts: 0, hash };
      tallies.set(name, known);
      bytes += bytesOfDocument + name.length + hash.length;
    }
    known.passages += 1;
    known.parts = Math.max(known.parts, countOr(payload?.parts));
    if (known.hash !== hash) delete known.hash;
  }
  return bytes;
}

const documentsIn = (tallies: Tallies): StoredDocument[] =>
  [...tallies]
    .map(([name, { hash = "", ...counts }]) => ({ name, ...(hash !== "" && { hash }), ...counts }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
