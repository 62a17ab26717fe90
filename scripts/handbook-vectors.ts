/** `bun scripts/handbook-vectors.ts`: embeds the handbook's passages with the starter model, for src/ingest/handbook-vectors.json. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { handbookDocuments, handbookPagesIn } from "../src/ingest/handbook.ts";
import made from "../src/ingest/handbook-vectors.json";
import { keyOf, toBytes } from "../src/ingest/handbook-vectors.ts";
import { planDocuments } from "../src/ingest/passages.ts";
import { openEmbeddingModel } from "../src/node/documents/node-collection.ts";
import { bareNodeOptions } from "../tests/support/bare-node.ts";
import { tempDir } from "../tests/support/temp-dir.ts";
import { unusedRepository } from "../tests/support/unused-repository.ts";

const outfile = join(import.meta.dir, "../src/ingest/handbook-vectors.json");
const mostBytes = 300_000;
const batch = 16;

await using folder = await tempDir();
const { signal } = new AbortController();
const env = { PADDOCK_DATA_DIR: folder.path };
await using model = await openEmbeddingModel(bareNodeOptions({ env }), signal);
const { engine, identity } = model.embedding;
const { documentPrefix, fingerprint } = identity;

const texts: string[] = [];
const pages = await handbookDocuments(await handbookPagesIn(join(import.meta.dir, "../docs")));
const options = { engine, repository: unusedRepository, documentPrefix, signal };
const asNew = new Map(pages.map((page) => [page, undefined]));
for (const plan of (await planDocuments(asNew, options)).values()) {
  if (plan instanceof Error) throw plan;
  if (plan.change === "none") continue;
  for (const { source } of plan.passages) texts.push(documentPrefix + source);
}

// What was embedded before stays as it is.
const before: Readonly<Record<string, string>> = made.model === fingerprint ? made.vectors : {};
const vectors = new Map<string, string>();
for (const text of texts) {
  const known = before[keyOf(text)];
  if (known !== undefined) vectors.set(keyOf(text), known);
}
const missing = texts.filter((text) => !vectors.has(keyOf(text)));
for (let from = 0; from < missing.length; from += batch) {
  const some = missing.slice(from, from + batch);
  const embeddings = await engine.embed(some, { signal });
  for (const [at, text] of some.entries()) {
    const vector = embeddings[at]?.vector;
    if (vector !== undefined) vectors.set(keyOf(text), toBytes(vector));
  }
}
const sorted = Object.fromEntries([...vectors].toSorted(([a], [b]) => (a < b ? -1 : 1)));
await Bun.write(outfile, `${JSON.stringify({ model: fingerprint, vectors: sorted }, null, 2)}\n`);
const { size } = await stat(outfile);
console.log(`Wrote ${outfile}: ${texts.length} passages, ${missing.length} new, ${size} bytes`);
if (size > mostBytes) throw new Error(`It is larger than ${mostBytes / 1e3} kB.`);
